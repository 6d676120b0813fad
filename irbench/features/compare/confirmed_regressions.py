"""Whether a second measurement finds the regressions of a comparison again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from irbench.across_runs.changes import (
    CheckedCondition,
    FigureChange,
    Unjudged,
    change_between,
    checked_condition,
    outcome_of,
    verdict_of,
)
from irbench.across_runs.measured_cells import FIGURES, CellKey, CellSamples, ComparedFigure, MeasuredCell, figure_of
from irbench.across_runs.paired_changes import change_in_pairs, log_ratios
from irbench.across_runs.repetition_obstacles import RepetitionInterrupted, RepetitionObstacle
from irbench.across_runs.side_comparison import ComparedRow, RunComparison
from irbench.options.conditions import Condition
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.speedups import holm_intervals

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


@dataclass(frozen=True)
class RepeatedRow:
    """A row whose conditions are checked again.

    Attributes:
        row: As it was measured before.
        base: The cell of the older side: measured again in the run of ``new``, or as it is stored.
        new: The cell of the newer side, measured again.
    """

    row: ComparedRow
    base: Sequence[MeasuredCell]
    new: MeasuredCell

    def log_ratios(self, figure: ComparedFigure) -> tuple[Sequence[float], CellSamples, CellSamples] | None:
        """Return ln(new / base) of each launch with the samples of both; ``None`` where no launch measured both."""
        for mine in self.new.samples:
            for other in self.base[-1].samples:
                together = bool(mine.records) and mine.records[0] is other.records[0]
                ratios = log_ratios(figure, other, mine) if together else ()
                if ratios:
                    return ratios, other, mine
        return None

    def change(
        self, figure: ComparedFigure, confidence: float, interval: Interval | None = None
    ) -> FigureChange | None:
        """Return a change: in pairs where both were measured side by side, so that drift cannot cause it.

        Args:
            figure: Of which.
            confidence: Of its interval.
            interval: Of the log ratios, where it is not that of this figure alone.
        """
        paired = self.log_ratios(figure)
        if paired is None:
            return change_between(figure, self.base, [self.new], confidence)
        ratios, base, new = paired
        return change_in_pairs(figure, base, new, interval or interval_at(ratios, looks_of(new.timing), confidence))


def confirmed_rows(
    repeated: Sequence[RepeatedRow], conditions: Sequence[Condition], within: float, confidence: float
) -> tuple[ComparedRow, ...]:
    """Return rows as they were measured again, without those that have no figures.

    A condition that the stored runs met must be met in two independent measurements, which needs no correction. One
    that could not be judged before is tested for the first time: where rows were measured side by side, these tests
    share the error probability by Holm's procedure.

    Args:
        repeated: What was measured again.
        conditions: Of the comparison; those that a row met, or that were not judged, are checked again.
        within: Changes up to this fraction count as the same.
        confidence: Of each interval.
    """
    first_tests = {
        (item.row.key, condition.text): ratios
        for item in repeated
        for condition in conditions
        if any(first.condition == condition.text and not first.is_met for first in _to_repeat(item.row))
        if (ratios := item.log_ratios(figure_of(condition.figure, item.new.row))) is not None
    }
    timing = next((replace(new.timing, confidence=confidence) for _, _, new in first_tests.values()), None)
    corrected = holm_intervals({key: ratios for key, (ratios, _, _) in first_tests.items()}, timing) if timing else {}
    rows = (_confirmed_row(item, conditions, within, confidence, corrected) for item in repeated)
    return tuple(row for row in rows if row is not None)


def _confirmed_row(
    item: RepeatedRow,
    conditions: Sequence[Condition],
    within: float,
    confidence: float,
    corrected: Mapping[tuple[CellKey, str], Interval],
) -> ComparedRow | None:
    row, new = item.row, item.new
    time = item.change(FIGURES["time"], confidence)
    if time is None:
        return None
    to_repeat = {checked.condition for checked in _to_repeat(row)}
    busy = any(cell.on_busy_machine for cell in item.base)

    def checked(condition: Condition) -> CheckedCondition:
        figure = figure_of(condition.figure, new.row)
        found = checked_condition(
            condition, item.change(figure, confidence), busy_base=busy, busy_new=new.on_busy_machine
        )
        interval = corrected.get((row.key, condition.text))
        if interval is None:
            return found
        return replace(found, outcome=outcome_of(condition, item.change(figure, confidence, interval)))

    return ComparedRow(
        name=row.name,
        key=row.key,
        base_key=row.base_key,
        verdict=verdict_of(time, within),
        time=time,
        base_runs=tuple(cell.run.run_id for cell in item.base),
        new_runs=(new.run.run_id,),
        conditions=tuple(checked(condition) for condition in conditions if condition.text in to_repeat),
        base_busy=busy,
        new_busy=new.on_busy_machine,
    )
