"""The words of a search for the version that changed something, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from irbench.core.quantities import NOT_MEASURED, error_size, plural
from irbench.features.bisect.options import Criterion
from irbench.features.bisect.report import BisectReport, Conclusion, Side, Step, VersionComparison
from irbench.render.figure_texts import are_ranges, as_fast_text, ends_heading, speedup_cell
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.views import Document
from irbench.spec import Timing
from irbench.store.folders import results_option

CRITERION_TEXTS: Mapping[Criterion, str] = {"speed": "the speed", "answer": "the answers"}
SIDE_TEXTS: Mapping[Side, str] = {
    "old": "as {first}",
    "new": "as {last}",
    "undecided": "undecided",
    "skipped": "skipped",
}
CONCLUSION_TEXTS: Mapping[Conclusion, str] = {
    "found": "{new} changed {what}",
    "same": "{first} and {last} do not differ in {what}: there is nothing to search for",
    "undecided": "whether {first} and {last} differ in {what} cannot be decided: give --budget more time, or"
    " --threshold a larger change",
    "interrupted": "interrupted: these are the results until then",
}

_STATES = {"ok": "match", "mismatch": "DIFFER", "failed": "failed", "not-applicable": "not run"}


def bisection_view(report: BisectReport) -> Document:
    """Return what was found, a row for each version that was tried, and what could not be judged."""
    first, last = report.versions[0], report.versions[-1]
    tried = f"{plural(len(report.versions), 'version')}, {len(report.steps) + 1} of them tried"
    title = f"{Path(report.model).name}: {report.runtime} {first} to {last}, {tried}"
    return Document((title, _conclusion(report), _table(report), *_remarks(report)))


def _conclusion(report: BisectReport) -> str:
    new = str(report.first_new)
    if report.untested:
        new = f"{report.untested[0]} to {new}, one of which"
    text = CONCLUSION_TEXTS[report.conclusion].format(
        first=report.versions[0],
        last=report.versions[-1],
        new=f"{report.runtime} {new}",
        what=CRITERION_TEXTS[report.by],
    )
    return text if report.evidence is None else f"{text}: {comparison_text(report.evidence)}"


def _table(report: BisectReport) -> TextTable:
    tried = {step.version: step for step in report.steps}
    rows = [_row(report, tried[version]) for version in report.versions if version in tried]
    first = Row((report.versions[0], "1 baseline" if report.by == "speed" else "baseline", *[NOT_MEASURED] * 3))
    return TextTable((*_columns(report), TableColumn("tries")), (first, *rows))


def _columns(report: BisectReport) -> tuple[TableColumn, ...]:
    version, behaves = TableColumn("version", words=True), TableColumn("it behaves", words=True)
    if report.by == "answer":
        return (version, TableColumn("outputs", words=True), TableColumn("max err"), behaves)
    speedups = [step.comparison.speedup for step in report.steps]
    heading = ends_heading("speedup", speedups, Timing.confidence)
    return (version, TableColumn(heading, words=True), TableColumn("verdict", words=True), behaves)


def _row(report: BisectReport, step: Step) -> Row:
    side = SIDE_TEXTS[step.side].format(first=report.versions[0], last=report.versions[-1])
    return Row((step.version, *_figures(report, step.comparison), side, str(step.attempts)))


def _figures(report: BisectReport, comparison: VersionComparison) -> tuple[str, str]:
    if report.by == "speed":
        speedup, marks_ranges = comparison.speedup, not are_ranges(step.comparison.speedup for step in report.steps)
        shown = speedup_cell(speedup, is_baseline=False, marks_ranges=marks_ranges)
        return shown, speedup.verdict if speedup is not None else NOT_MEASURED
    error = comparison.output_error
    state = NOT_MEASURED if comparison.state is None else _STATES.get(comparison.state, comparison.state)
    return state, error_size(None if error is None else error.max_rel)


def comparison_text(comparison: VersionComparison) -> str:
    """Return how a version compares: its speedup, its error, or why there is neither."""
    version, baseline = comparison.version, comparison.baseline
    if comparison.speedup is not None:
        return as_fast_text(version, baseline, comparison.speedup)
    if comparison.failure is not None:
        return f"{version} compared with {baseline}: {comparison.failure.message.rstrip('.')}"
    if comparison.output_error is not None:
        return f"{version} answers as {baseline} does, max err {error_size(comparison.output_error.max_rel)}"
    return f"{version} runs the model, {baseline} does not"


def _remarks(report: BisectReport) -> Iterator[str]:
    """Yield why versions were skipped, whether the change came in several steps, and where the runs are."""
    for step in report.steps:
        if step.side == "skipped" and step.comparison.failure is not None:
            yield f"Skipped: {step.version}, {step.comparison.failure.message.rstrip('.')}."
    speedup = None if report.evidence is None else report.evidence.speedup
    if report.evidence is not None and speedup is not None and speedup.verdict not in ("faster", "slower"):
        text = comparison_text(report.evidence)
        yield f"{text}, {speedup.verdict}: the change may have come in several small steps."
    runs = [step.comparison.run_id for step in report.steps if step.comparison.run_id]
    if runs:
        yield f"Every comparison is a stored run: irbench show {runs[0]}{results_option(report.results)}"
