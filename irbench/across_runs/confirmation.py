"""Whether a second measurement finds the regressions of a comparison again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from irbench.across_runs.changes import Change, change_between, verdict_of
from irbench.across_runs.comparison import CheckedCondition, ComparedRow
from irbench.across_runs.conditions import Condition, outcome_of
from irbench.across_runs.figures import FIGURES, ComparedFigure
from irbench.across_runs.measured_cells import MeasuredCell
from irbench.stats.compare import launch_ratios
from irbench.stats.intervals import interval_at, looks_of
from irbench.stats.two_samples import Shift

__all__ = ["Confirmation", "ConfirmationOutcome", "Method", "Obstacle", "ObstacleCode", "confirmed_row", "judge"]

ConfirmationOutcome = Literal["confirmed", "not-confirmed", "undecided", "not-possible"]
Method = Literal["both", "new"]
"""``both``: models of both sides were measured again in one run; ``new``: the newer side alone, which is compared with
what is stored of the older one."""
ObstacleCode = Literal["other-machine", "other-software", "model-changed", "not-repeatable", "interrupted"]
"""``not-repeatable``: the stored plan cannot be asked for again."""


@dataclass(frozen=True)
class Obstacle:
    """Why nothing could be measured again.

    Attributes:
        code: Why.
        facts: What the words need: ``names`` of what differs, ``message`` and ``hint`` of an error.
    """

    code: ObstacleCode
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Confirmation:
    """What a second measurement said.

    Attributes:
        outcome: Of all regressions together: confirmed if one of them is.
        method: What was measured; ``None`` where nothing was.
        run: Id of the run that was made for it; empty where nothing was measured.
        rows: The regressions as they were measured again.
        obstacle: Why nothing was measured.
    """

    outcome: ConfirmationOutcome
    method: Method | None = None
    run: str = ""
    rows: tuple[ComparedRow, ...] = ()
    obstacle: Obstacle | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the second measurement was ended before it could say anything."""
        return self.obstacle is not None and self.obstacle.code == "interrupted"


def judge(rows: Iterable[ComparedRow]) -> ConfirmationOutcome:
    """Return what regressions that were measured again say together."""
    outcomes = {checked.outcome for row in rows for checked in row.conditions}
    if "met" in outcomes:
        return "confirmed"
    return "not-confirmed" if outcomes == {"not-met"} else "undecided"


def confirmed_row(
    row: ComparedRow,
    base: Sequence[MeasuredCell],
    new: MeasuredCell,
    conditions: Sequence[Condition],
    within: float,
    confidence: float,
) -> ComparedRow | None:
    """Return a regression as it was measured again; ``None`` where it has no figures.

    Args:
        row: The regression.
        base: The cell of the older side: measured again in the run of ``new``, or as it is stored.
        new: The cell of the newer side, measured again.
        conditions: Of the comparison; those that the row met are checked again.
        within: Changes up to this fraction count as the same.
        confidence: Of the interval.
    """
    time = _change(FIGURES["time"], base, new, confidence)
    if time is None:
        return None
    met = {checked.condition for checked in row.conditions if checked.outcome == "met"}
    checked: list[CheckedCondition] = []
    for condition in (condition for condition in conditions if condition.text in met):
        change = _change(FIGURES[condition.figure], base, new, confidence)
        checked.append(CheckedCondition(condition.text, outcome_of(condition, change), change, condition.relative))
    return ComparedRow(
        name=row.name,
        key=row.key,
        base_key=row.base_key,
        verdict=verdict_of(time, within),
        time=time,
        base_runs=tuple(cell.run.run_id for cell in base),
        new_runs=(new.run.run_id,),
        conditions=tuple(checked),
    )


def _change(
    figure: ComparedFigure, base: Sequence[MeasuredCell], new: MeasuredCell, confidence: float
) -> Change | None:
    """Return a change: in pairs where both were measured side by side, which no drift of the machine can pretend."""
    paired = _paired(base[-1], new, confidence) if figure.name == "time" else None
    independent = change_between(figure, base, [new], confidence)
    if paired is None or independent is None:
        return independent
    base_ms = independent.base
    difference = Shift(base_ms * paired.value, base_ms * paired.low, base_ms * paired.high, paired.confidence)
    count = independent.new_count
    return Change(
        figure=figure.name,
        unit=figure.unit,
        base=independent.base,
        new=independent.new,
        relative=paired,
        difference=difference,
        counted="pairs",
        base_count=count,
        new_count=count,
    )


def _paired(base: MeasuredCell, new: MeasuredCell, confidence: float) -> Shift | None:
    """Return the relative change of a time over launches in which both cells took turns; ``None`` without any."""
    for mine in new.samples:
        for other in base.samples:
            if mine.records is not other.records or mine.row.id == other.row.id:
                continue
            ratios = launch_ratios(mine.launches, mine.row.id, other.row.id)
            if ratios:
                found = interval_at(ratios, looks_of(mine.timing), confidence)
                value, low, high = map(math.expm1, (found.value, found.low, found.high))
                return Shift(value, low, high, found.confidence)
    return None
