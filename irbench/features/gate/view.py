"""A gate in words: for the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from irbench.across_runs.changes import Unjudged
from irbench.across_runs.texts import checked_text, outwards, signed_percent, signed_percent_end, unjudged_text
from irbench.core.quantities import NOT_MEASURED, listing, plural, significant
from irbench.core.result import STOPPED_TEXTS
from irbench.features.gate.decision import REGRESSIONS, GatedRow, RowOutcome
from irbench.features.gate.report import GateReport
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.views import PlainView
from irbench.stats.two_samples import Shift
from irbench.store.folders import results_option

ROW_TEXTS: Mapping[RowOutcome, str] = {
    "passed": "pass",
    "regression": "regression",
    "wrong-outputs": "wrong outputs",
    "failed": "failed",
    "undecided": "undecided",
    "not-measured": "not measured",
}


def gate_view(report: GateReport) -> PlainView:
    """Return what was decided, each compared row, and what kept others from being judged."""
    return PlainView(
        title=SEPARATOR.join((f"{report.base} → {report.new}", f"limit {_percent(report.limit)}")),
        headline=_headline(report),
        table=_table(report),
        notes=tuple(_notes(report)),
        warnings=tuple(_warnings(report)),
    )


def _headline(report: GateReport) -> str:
    if report.outcome == "regression":
        return f"Regression: {listing(map(_regression, _of(report, *REGRESSIONS)))}."
    if report.outcome == "passed":
        return f"No regression{_in_rows(report)}: {_excluded(report)}."
    why = "interrupted" if report.outcome == "interrupted" else _why_undecided(report)
    known = f" So far {_excluded(report)}." if report.excluded_above is not None else ""
    return f"Not decided{_in_rows(report)}: {why}.{known}"


def _regression(row: GatedRow) -> str:
    if row.outcome == "wrong-outputs":
        return f"{row.name} has wrong outputs" + (f" ({row.failure.message})" if row.failure is not None else "")
    if row.outcome == "failed":
        return f"{row.name} fails" + (f" ({row.failure.message})" if row.failure is not None else "")
    met = [checked for checked in row.conditions if checked.is_met]
    if met[0] is row.conditions[0] and row.time is not None and row.time.relative is not None:
        shift = row.time.relative
        return f"{row.name} is slower by {_percent(shift.value)} {_interval(shift)}"
    return f"{row.name} meets {listing(checked.condition for checked in met)}"


def _excluded(report: GateReport) -> str:
    """Return ``slowdowns above 4.1 % are excluded (95 % confidence)``."""
    above = report.excluded_above
    assert above is not None, "a row that passed has an interval"
    each = " in every row" if len(report.rows) > 1 else ""
    which = f"slowdowns above {_percent(outwards(above, up=True))} are" if above > 0 else "any slowdown is"
    return f"{which} excluded{each} ({100 * report.confidence:g} % confidence)"


def _in_rows(report: GateReport) -> str:
    """Return `` in 2 of 3 rows``: how many passed, or are open; nothing where there is one row."""
    of_all = plural(len(report.rows), "row")
    if len(report.rows) < 2 or report.outcome == "passed":
        return f" in {of_all}" if len(report.rows) > 1 else ""
    return f" in {sum(row.outcome != 'passed' for row in report.rows)} of {of_all}"


def _why_undecided(report: GateReport) -> str:
    reasons = [f"{row.name} was not measured" for row in _of(report, "not-measured")]
    if len(reasons) < sum(row.outcome != "passed" for row in report.rows):
        stopped = dict.fromkeys(STOPPED_TEXTS[reason] for reason in report.stopped_by if reason != "target")
        ended = listing(stopped) or "a condition could not be judged"
        if report.needed_s is not None:
            ended = "too few launches fit into the budget, stopped"
        reasons.append(f"{ended} after {report.seconds:.0f} s")
    return listing(reasons)


def _of(report: GateReport, *outcomes: RowOutcome) -> Iterator[GatedRow]:
    return (row for row in report.rows if row.outcome in outcomes)


def _table(report: GateReport) -> TextTable:
    columns = (
        TableColumn("row", words=True, folds=True),
        TableColumn("base ms", drops=2),
        TableColumn("new ms", drops=1),
        TableColumn("paired change"),
        TableColumn(f"{100 * report.confidence:g} % interval"),
        TableColumn("result", words=True),
        TableColumn("launches", drops=3),
    )
    return TextTable(columns, tuple(map(_row, report.rows)))


def _row(row: GatedRow) -> Row:
    outcome = ROW_TEXTS[row.outcome]
    time = row.time
    if time is None or time.relative is None:
        return Row((row.name, *[NOT_MEASURED] * 4, outcome, NOT_MEASURED))
    shift = time.relative
    cells = (
        row.name,
        significant(time.base),
        significant(time.new),
        signed_percent(shift.value),
        _interval(shift) if shift.confidence else NOT_MEASURED,
        outcome,
        str(time.new_count),
    )
    return Row(cells)


def _interval(shift: Shift) -> str:
    """Return ``[+1.2 %, +4.2 %]``, rounded outwards: an end that is shown within the limit is within it."""
    low, high = outwards(shift.low, up=False), outwards(shift.high, up=True)
    return f"[{signed_percent_end(low)}, {signed_percent_end(high)}]"


def _notes(report: GateReport) -> Iterator[str]:
    for row in report.rows:
        shown = [checked for checked in row.conditions[:1] if checked.is_significant_alone]
        yield from (checked_text(row.name, checked) for checked in (*shown, *row.conditions[1:]))
        if row.failure is not None and row.outcome == "not-measured":
            yield f"{row.name}: {row.failure.message}"
    if report.is_as_loaded and any(row.time is not None for row in report.rows):
        yield "Other programs ran during most of the measurement: times are means under that load."
    yield f"Run {report.run}: irbench show {report.run}{_results_option(report)}"


def _results_option(report: GateReport) -> str:
    """Return the option that says where the run is kept; empty for the usual place."""
    return "" if report.results is None else results_option(Path(report.results))


def _warnings(report: GateReport) -> Iterator[str]:
    if report.outcome not in ("undecided", "interrupted"):
        return
    unjudged = (
        Unjudged(row.name, checked.condition, checked.unjudged, checked.change)
        for row in report.rows
        for checked in row.conditions
        if checked.unjudged is not None and not (checked.unjudged == "too-few" and report.needed_s is not None)
    )
    text = unjudged_text(unjudged, regressed=False)
    if text:
        yield text
    if "budget" in report.stopped_by:
        remedy = "Increase --budget or --limit"
        if report.needed_s is not None:
            remedy = f"The launches of an interval need about --budget {report.needed_s}s"
        yield f"warning: not decided, so this is not a pass (exit code 6). {remedy}."


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %" if fraction >= 0.001 or fraction == 0 else f"{100 * fraction:.2g} %"
