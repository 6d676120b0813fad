"""Two sides of stored runs beside each other: for the terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from irbench.across_runs.changes import (
    FEWEST_RUNS,
    FigureChange,
    Unjudged,
)
from irbench.across_runs.side_comparison import ComparedRow, ComparedSide, RunComparison, UnmatchedRow
from irbench.across_runs.texts import (
    change_and_figures,
    checked_text,
    difference_text,
    signed_percent,
    signed_percent_end,
    unjudged_text,
)
from irbench.core.quantities import NOT_MEASURED, listing, plural, significant
from irbench.core.row import Verdict
from irbench.features.compare.confirmed_regressions import (
    Confirmation,
    ConfirmationOutcome,
    has_regressed,
    rows_as_measured_last,
    unjudged_of,
)
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.verdicts import style_of
from irbench.render.views import PlainView

_MOST_NAMES = 8
_ORDER: tuple[Verdict, ...] = ("slower", "faster", "same", "undecided", "preview")

_CONFIRMATIONS: Mapping[ConfirmationOutcome, str] = {
    "confirmed": "confirmed",
    "not-confirmed": "not confirmed, so it is not a regression",
    "undecided": "undecided",
    "not-possible": "not possible",
}


def comparison_view(comparison: RunComparison, confirmation: Confirmation | None = None) -> PlainView:
    """Return a comparison as a person reads it."""
    unjudged = unjudged_of(comparison, confirmation)
    rows = rows_as_measured_last(comparison, confirmation)
    not_judged = unjudged_text(unjudged, regressed=has_regressed(comparison, confirmation))
    return PlainView(
        title=_title(comparison),
        headline=_headline(comparison, rows, confirmation, unjudged),
        table=_table(comparison, rows),
        notes=tuple(_notes(comparison, rows, confirmation)),
        warnings=tuple(_warnings(comparison, rows, not_judged)),
    )


def comparison_markdown(comparison: RunComparison, confirmation: Confirmation | None = None) -> str:
    """Return a comparison as GitHub-flavoured Markdown; takes what :func:`comparison_view` does."""
    return comparison_view(comparison, confirmation).as_markdown()


def _title(comparison: RunComparison) -> str:
    models = dict.fromkeys((" → ".join(dict.fromkeys((row.base_key.model, row.key.model)))) for row in comparison.rows)
    machines = dict.fromkeys((comparison.base.machine, comparison.new.machine))
    parts = (
        ", ".join(models),
        f"{_side(comparison.base)} → {_side(comparison.new)}",
        f"machine {' → '.join(machines)}",
    )
    return SEPARATOR.join(part for part in parts if part)


def _side(side: ComparedSide) -> str:
    runs = side.runs[-1] if len(side.runs) == 1 else plural(len(side.runs), "run")
    return side.name if side.name == runs else f"{side.name} ({runs})"


def _headline(
    comparison: RunComparison,
    rows: Sequence[ComparedRow],
    confirmation: Confirmation | None,
    unjudged: Sequence[Unjudged],
) -> str:
    if not comparison.rows:
        return (
            f"No row was measured on both sides: {_rows_of(comparison, 'BASE')}, {_rows_of(comparison, 'NEW')}. Rows"
            " match where model, shapes, backend, precision and all other settings are equal: measure both sides with"
            " the same ones (irbench plan from RUN prints a run as a plan, which irbench sweep repeats)."
        )
    counts = Counter(row.verdict for row in rows)
    verdicts = listing(f"{counts[verdict]} {verdict}" for verdict in _ORDER if counts[verdict])
    parts = [f"{plural(len(comparison.rows), 'row')}: {verdicts}"]
    if comparison.asked:
        met = [row for row in comparison.rows if any(checked.outcome == "met" for checked in row.conditions)]
        found = [row for row in rows if row.is_regression]
        parts.append(_regressions(comparison, (met or found) if confirmation is not None else found, unjudged))
        if confirmation is not None:
            is_refuted = confirmation.outcome == "not-confirmed" and not met
            parts.append(f"measured again: {'decided' if is_refuted else _CONFIRMATIONS[confirmation.outcome]}")
    return f"{'; '.join(parts)}."


def _rows_of(comparison: RunComparison, side: str) -> str:
    """Return which rows a side has where none is compared: ``BASE has ort and tf``."""
    names = [
        row.name if row.in_base != row.in_new else f"{row.name} (without figures on one side)"
        for row in comparison.unmatched
        if (row.in_base if side == "BASE" else row.in_new)
    ]
    more = len(names) - _MOST_NAMES
    shown = names if more <= 1 else [*names[:_MOST_NAMES], f"{more} others"]
    return f"{side} has {listing(shown) if shown else 'no rows'}"


def _regressions(comparison: RunComparison, regressed: Sequence[ComparedRow], unjudged: Sequence[Unjudged]) -> str:
    """Return which rows regressed, or that none was found, and in how many it may have been missed."""
    unsure = sum(row.may_be_regression for row in comparison.rows if row not in regressed)
    if regressed:
        others = f", and not excluded in {plural(unsure, 'other row')}" if unsure else ""
        return f"regression: {listing(row.name for row in regressed)}{others}"
    if unjudged:
        conditions = list(dict.fromkeys(item.condition for item in unjudged))
        were = "was" if len(conditions) == 1 else "were"
        rows = len(comparison.rows) + sum(row.is_missed for row in comparison.unmatched)
        share = _share(len({item.row for item in unjudged}), rows)
        return f"no regression found, but {listing(conditions)} {were} not judged in {share}"
    if not unsure:
        return f"no regression: every interval excludes {listing(comparison.asked)}"
    open_ = {item.condition for row in comparison.rows for item in row.conditions if not item.excluded}
    named = [condition for condition in comparison.asked if condition in open_]
    share = _share(unsure, len(comparison.rows))
    return f"no regression found, but {listing(named)} {'is' if len(named) == 1 else 'are'} not excluded in {share}"


def _share(rows: int, of_all: int) -> str:
    return "any row" if rows == of_all else f"{rows} of {plural(of_all, 'row')}"


def _table(comparison: RunComparison, rows: Sequence[ComparedRow]) -> TextTable:
    columns = (
        TableColumn("row", words=True, folds=True),
        TableColumn("prec", words=True, drops=4),
        TableColumn("base ms", drops=2),
        TableColumn("new ms", drops=1),
        TableColumn("change"),
        TableColumn(f"{100 * comparison.confidence:g} % interval"),
        TableColumn("verdict", words=True),
        TableColumn("counted", words=True, drops=3),
    )
    return TextTable(columns, tuple(map(_row, rows)))


def _row(row: ComparedRow) -> Row:
    time = row.time
    shift = time.relative or time.difference
    interval = (
        f"[{signed_percent_end(shift.low)}, {signed_percent_end(shift.high)}]" if shift.confidence else NOT_MEASURED
    )
    base, new, change = change_and_figures(time.base, time.new, "", relative=time.relative is not None)
    if time.counted == "pairs":  # the median over pairs, which does not follow from two medians
        base, new, change = NOT_MEASURED, significant(time.new), signed_percent(shift.value)
    cells = (
        row.name,
        row.key.precision,
        base,
        new,
        change,
        interval,
        row.verdict,
        _counted(time),
    )
    return Row(cells, style=style_of(row.verdict))


def _counted(change: FigureChange) -> str:
    counts = str(change.base_count) if change.counted == "pairs" else f"{change.base_count} and {change.new_count}"
    return f"{counts} {change.counted}"


def _notes(comparison: RunComparison, rows: Sequence[ComparedRow], confirmation: Confirmation | None) -> Iterator[str]:
    if rows:
        yield _times(rows)
    if confirmation is not None:
        yield from _confirmation(confirmation)
    yield from (checked_text(row.name, checked) for row in rows for checked in row.conditions)
    yield from (difference_text(difference) for difference in comparison.differences if not difference.blocks)
    if comparison.unmatched and comparison.rows:
        yield f"Not compared: {', '.join(map(_unmatched, comparison.unmatched))}."
    yield from _meaning(rows, is_confirmed=confirmation is not None)


def _times(rows: Sequence[ComparedRow]) -> str:
    """Return what the times are, which are not the p50 that a run's own table shows."""
    per_sample = [max(row.key.streams, row.key.instances) > 1 for row in rows]
    time = "time per sample" if all(per_sample) else "time of a batch"
    some = " (per sample with several streams or instances)" if any(per_sample) and not all(per_sample) else ""
    by_run = [row.time.counted in ("runs", "values") for row in rows]
    over = "launches" if not any(by_run) else "runs" if all(by_run) else "launches or runs, as counted"
    latency = "the latency of a batch " if any(per_sample) else ""
    return (
        f"base ms, new ms: {time}{some}, the median over {over}; change: from one to the other;"
        f" p50 ms in irbench show is {latency}over the calls of the included blocks, and may differ."
    )


def _confirmation(confirmation: Confirmation) -> Iterator[str]:
    if confirmation.obstacle is not None:
        yield f"Not measured again: {confirmation.obstacle.text()}."
        return
    how = {"both": "both sides in one run", "new": "NEW alone", None: ""}[confirmation.method]
    met = (checked.condition for row in confirmation.rows for checked in row.conditions)
    shown = f": its figures of {listing(row.name for row in confirmation.rows)} are shown" if confirmation.rows else ""
    before = f", where the stored runs met {listing(dict.fromkeys(met))}" if confirmation.rows else ""
    yield f"Measured again, {how}, in run {confirmation.run}{shown}{before}."


def _unmatched(row: UnmatchedRow) -> str:
    if row.in_base and row.in_new:
        return f"{row.name} (without figures on one side)"
    return f"{row.name} (only in {'BASE' if row.in_base else 'NEW'})"


def _meaning(rows: Sequence[ComparedRow], *, is_confirmed: bool) -> Iterator[str]:
    if any(row.verdict == "preview" for row in rows):
        yield "preview: an interval takes 4 launches on both sides. Measure without --quick."
    if any(row.time.counted == "launches" and row.time.has_interval for row in rows):
        remedy = f"{'' if is_confirmed else '--confirm, or '}{FEWEST_RUNS} runs on both sides"
        yield f"Intervals are over launches, without the machine's drift between two runs: use {remedy}."


def _load(rows: Sequence[ComparedRow]) -> Iterator[str]:
    """Yield that times were measured beside other programs, which the runs are too few to contain as scatter."""
    concerned = [row for row in rows if row.time.counted == "launches"]
    is_busy = {"BASE": any(row.base_busy for row in concerned), "NEW": any(row.new_busy for row in concerned)}
    busy = [side for side, was_busy in is_busy.items() if was_busy]
    if busy:
        yield (
            f"warning: other programs disturbed most blocks of {listing(busy)}, which may be the reason for a change or"
            f" hide one. {FEWEST_RUNS} runs on both sides have load in their intervals."
        )


def _warnings(comparison: RunComparison, rows: Sequence[ComparedRow], unjudged: str) -> Iterator[str]:
    if unjudged:
        yield unjudged
    yield from _load(rows)
    if comparison.base.runs == comparison.new.runs:
        yield "warning: BASE and NEW are the same run, which has no difference from itself."
    yield from (f"warning: {difference_text(difference)}" for difference in comparison.blocking)
    yield from dict.fromkeys(f"warning: {problem.text()}" for problem in comparison.problems)
