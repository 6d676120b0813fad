"""The result of a verification, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irbench.core.quantities import NOT_MEASURED, error_size, plural
from irbench.core.row import CellResult
from irbench.features.verify.cases import OUTCOMES, OperatorScore, Outcome, SuiteReport, operator_scores
from irbench.features.verify.report import DataSets, ModelReport
from irbench.notices import Context
from irbench.notices.conversions import top1_text
from irbench.render.failure_texts import failure_sentence
from irbench.render.line_wrapping import shorten_middle
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR, inputs_text, sizes_text
from irbench.render.views import Document

_LONGEST_REASON = 160
_LONGEST_HEAD = 30
_INTERRUPTED = "Interrupted: these are the results until then."
_MODEL_COLUMNS = (
    TableColumn("backend", words=True),
    TableColumn("prec", words=True),
    TableColumn("outputs", words=True),
    TableColumn("max err"),
    TableColumn("max abs"),
    TableColumn("cosine"),
    TableColumn("top-1"),
)
_LEFT_OUT_FIRST: Mapping[Outcome, int] = {"skipped": 2, "crashed": 1}
"""Where a terminal is narrow; the reason begins with the worst outcome in any case."""
_OTHER_VALUES: Mapping[Outcome, str] = {
    "passed": "Other values, within the tolerance",
    "wrong": "Wrong in both, with other values",
}
_STATES = {"ok": "match", "mismatch": "WRONG", "failed": "failed", "not-applicable": "not run"}


def model_view(report: ModelReport) -> Document:
    """Return a row for each backend, and a sentence below for each that does not match."""
    compared = f"{report.model}: outputs compared with {_source(report)}"
    judged = top1_text(report.classes) if report.classes else ""
    facts = (compared, sizes_text(report.shapes), inputs_text(report.given_inputs), judged)
    title = SEPARATOR.join(fact for fact in facts if fact)
    rows = tuple(Row(_cells(cell), style="" if cell.state == "ok" else "red") for cell in report.cells)
    failures = (f"{cell.label}: {failure_sentence(cell.failure)}" for cell in report.cells if cell.failure is not None)
    warnings = (f"warning: {warning.whole(Context())}" for warning in report.warnings)
    return Document((title, TextTable(_MODEL_COLUMNS, rows), *failures, *warnings, *_ending(report.complete)))


def suite_view(report: SuiteReport) -> Document:
    """Return the scoreboard: a row for each backend, then one for each operator that a backend does not pass whole."""
    cases = len({case.name for case in report.cases})
    chosen = f" that match {report.pattern}" if report.pattern else ""
    title = f"ONNX backend test suite of onnx {report.suite_version}: {cases} cases{chosen}, {report.seconds:.0f} s"
    if report.between:
        return Document((title, _totals(report), *_changes(report), *_ending(report.complete)))
    scores = operator_scores(report.cases)
    imperfect = [score for score in scores if not score.perfect]
    operators = [_operators(imperfect)] if imperfect else []
    return Document((title, _totals(report), *operators, *_passed_whole(scores), *_ending(report.complete)))


def _source(report: ModelReport) -> str:
    source = report.verified_against
    if isinstance(source, DataSets):
        return f"{source.folder} ({plural(source.count, 'data set')})"
    return "outputs of unknown origin" if source is None else source.text()


def _cells(cell: CellResult) -> tuple[str, ...]:
    error = cell.output_error
    return (
        cell.label,
        str(cell.effective.get("precision", NOT_MEASURED)),
        _STATES.get(cell.state, cell.state),
        error_size(None if error is None else error.max_rel),
        error_size(None if error is None else error.max_abs),
        NOT_MEASURED if error is None else f"{error.cosine:.6f}",
        NOT_MEASURED if error is None or error.top1_agreement is None else f"{error.top1_agreement * 100:.0f} %",
    )


def _totals(report: SuiteReport) -> TextTable:
    columns = (
        TableColumn("backend", words=True),
        TableColumn("version", words=True),
        *(TableColumn(outcome) for outcome in OUTCOMES),
    )
    rows = []
    for backend in report.backends:
        counts = (str(backend.counts[outcome]) for outcome in OUTCOMES)
        rows.append(Row((backend.backend, f"{backend.distribution} {backend.version}", *counts)))
    return TextTable(columns, tuple(rows))


def _operators(scores: Sequence[OperatorScore]) -> TextTable:
    columns = (
        TableColumn("operator", words=True),
        TableColumn("backend", words=True),
        *(TableColumn(outcome, drops=_LEFT_OUT_FIRST.get(outcome, 0)) for outcome in OUTCOMES),
        TableColumn("most frequent reason", words=True, folds=True),
    )
    rows = []
    for score in scores:
        counts = (str(score.counts[outcome]) for outcome in OUTCOMES)
        rows.append(Row((score.operator, score.backend, *counts, _short(score.reason))))
    return TextTable(columns, tuple(rows))


def _changes(report: SuiteReport) -> Iterator[str | TextTable]:
    """Yield a row for each operator whose outcome changed, and the operators whose values alone did."""
    changed = [change for change in report.changes if change.is_of_outcome]
    first, second = report.between
    if changed:
        columns = (
            TableColumn("operator", words=True),
            TableColumn("cases"),
            TableColumn(first, words=True),
            TableColumn(second, words=True),
            TableColumn("most frequent reason", words=True, folds=True),
        )
        rows = (
            Row((change.operator, str(len(change.cases)), change.before, change.after, _short(change.reason)))
            for change in changed
        )
        yield TextTable(columns, tuple(rows))
    else:
        yield f"No case has another outcome in {second} than in {first}."
    for outcome, text in _OTHER_VALUES.items():
        names = dict.fromkeys(c.operator for c in report.changes if not c.is_of_outcome and c.after == outcome)
        if names:
            yield f"{text}: {', '.join(names)}."


def _passed_whole(scores: Sequence[OperatorScore]) -> tuple[str, ...]:
    """Return, for each backend, the operators of which it passes every case."""
    operators: dict[str, list[str]] = {}
    for score in scores:
        if score.perfect and score.counts["passed"]:
            operators.setdefault(score.backend, []).append(score.operator)
    order = dict.fromkeys(score.backend for score in scores)
    return tuple(f"{name} passes every case of: {', '.join(operators[name])}." for name in order if name in operators)


def _short(reason: str) -> str:
    return shorten_middle(reason, _LONGEST_REASON, _LONGEST_HEAD)


def _ending(complete: bool) -> tuple[str, ...]:
    return () if complete else (_INTERRUPTED,)
