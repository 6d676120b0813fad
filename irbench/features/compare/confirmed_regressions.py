"""Whether a second measurement finds the regressions of a comparison again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from irbench.across_runs.changes import (
    CheckedCondition,
    FigureChange,
    Unjudged,
    change_between,
    checked_condition,
    verdict_of,
)
from irbench.across_runs.measured_cells import FIGURES, ComparedFigure, MeasuredCell, figure_of
from irbench.across_runs.paired_changes import change_in_pairs, log_ratios
from irbench.across_runs.repetition_obstacles import RepetitionInterrupted, RepetitionObstacle
from irbench.across_runs.side_comparison import ComparedRow, RunComparison
from irbench.options.conditions import Condition
from irbench.stats.intervals import interval_at, looks_of

ConfirmationOutcome = Literal["confirmed", "not-confirmed", "undecided", "not-possible"]
Method = Literal["both", "new"]
"""``both``: models of both sides were measured again in one run; ``new``: the newer side alone, which is compared with
what is stored of the older one."""


@dataclass(frozen=True)
class Confirmation:
    """What a second measurement said.

    Attributes:
        method: What was measured; ``None`` where nothing was.
        run: Id of the run that was made for it; empty where nothing was measured.
    """

    outcome: ConfirmationOutcome
    method: Method | None = None
    run: str = ""
    rows: tuple[ComparedRow, ...] = ()
    obstacle: RepetitionObstacle | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the second measurement was ended before it could say anything."""
        return isinstance(self.obstacle, RepetitionInterrupted)


def has_regressed(comparison: RunComparison, confirmation: Confirmation | None) -> bool:
    """Return whether a row meets a condition, as a second measurement found where there is one."""
    if confirmation is None or confirmation.outcome == "not-possible":
        return bool(comparison.regressions)
    return confirmation.outcome == "confirmed"


def unjudged_of(comparison: RunComparison, confirmation: Confirmation | None) -> tuple[Unjudged, ...]:
    """Return the conditions that could not be judged, as a second measurement left them where there is one."""
    if confirmation is None or confirmation.outcome == "not-possible":
        return comparison.unjudged
    repeated = {(row.name, checked.condition) for row in comparison.suspects for checked in _to_repeat(row)}
    left = (item for item in comparison.unjudged if (item.row, item.condition) not in repeated)
    return (*left, *_still_open(comparison, confirmation))


def _still_open(comparison: RunComparison, confirmation: Confirmation) -> Iterator[Unjudged]:
    """Yield what a second measurement left open of what it was to decide; what was met first must be met or refuted."""
    again = {(row.key, checked.condition): checked for row in confirmation.rows for checked in row.conditions}
    for row in comparison.suspects:
        for first in _to_repeat(row):
            last = again.get((row.key, first.condition), first)
            was_met = first.outcome == "met"
            if last is first or last.unjudged is not None or (was_met and last.outcome == "undecided"):
                reason = "not-repeated" if was_met else last.unjudged or "not-repeated"
                yield Unjudged(row.name, first.condition, reason, last.change)


def _to_repeat(row: ComparedRow) -> Iterator[CheckedCondition]:
    return (checked for checked in row.conditions if checked.is_to_repeat)


def rows_as_measured_last(comparison: RunComparison, confirmation: Confirmation | None) -> tuple[ComparedRow, ...]:
    """Return the rows of a comparison, those that were measured again as they were then: one change has one number.

    Conditions that were not checked again are as they were.
    """
    again = {row.key: row for row in confirmation.rows} if confirmation is not None else {}
    return tuple(_measured_last(row, again.get(row.key)) for row in comparison.rows)


def _measured_last(row: ComparedRow, again: ComparedRow | None) -> ComparedRow:
    if again is None:
        return row
    checked = {item.condition: item for item in (*row.conditions, *again.conditions)}
    return replace(again, conditions=tuple(checked.values()))


def judge(rows: Iterable[ComparedRow]) -> ConfirmationOutcome:
    """Return what rows that were measured again say together."""
    checked = [checked for row in rows for checked in row.conditions]
    if any(item.is_met for item in checked):
        return "confirmed"
    outcomes = {item.outcome for item in checked}
    is_judged = all(item.unjudged is None for item in checked)
    return "not-confirmed" if outcomes == {"not-met"} and is_judged else "undecided"


def confirmed_row(
    row: ComparedRow,
    base: Sequence[MeasuredCell],
    new: MeasuredCell,
    conditions: Sequence[Condition],
    within: float,
    confidence: float,
) -> ComparedRow | None:
    """Return a row as it was measured again; ``None`` where it has no figures.

    Args:
        row: As it was measured before.
        base: The cell of the older side: measured again in the run of ``new``, or as it is stored.
        new: The cell of the newer side, measured again.
        conditions: Of the comparison; those that the row met, or that were not judged, are checked again.
        within: Changes up to this fraction count as the same.
        confidence: Of the interval.
    """
    time = _change(FIGURES["time"], base, new, confidence)
    if time is None:
        return None
    to_repeat = {checked.condition for checked in _to_repeat(row)}
    busy = any(cell.on_busy_machine for cell in base)
    checked = (
        checked_condition(
            condition,
            _change(figure_of(condition.figure, new.row), base, new, confidence),
            busy_base=busy,
            busy_new=new.on_busy_machine,
        )
        for condition in conditions
        if condition.text in to_repeat
    )
    return ComparedRow(
        name=row.name,
        key=row.key,
        base_key=row.base_key,
        verdict=verdict_of(time, within),
        time=time,
        base_runs=tuple(cell.run.run_id for cell in base),
        new_runs=(new.run.run_id,),
        conditions=tuple(checked),
        base_busy=busy,
        new_busy=new.on_busy_machine,
    )


def _change(
    figure: ComparedFigure, base: Sequence[MeasuredCell], new: MeasuredCell, confidence: float
) -> FigureChange | None:
    """Return a change: in pairs where both were measured side by side, which no drift of the machine can pretend."""
    for mine in new.samples:
        for other in base[-1].samples:
            together = bool(mine.records) and mine.records[0] is other.records[0]
            ratios = log_ratios(figure, other, mine) if together else ()
            if ratios:
                return change_in_pairs(figure, other, mine, interval_at(ratios, looks_of(mine.timing), confidence))
    return change_between(figure, base, [new], confidence)
