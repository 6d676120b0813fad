"""How much a figure of a cell changed from one side to the other, with an interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from irbench.across_runs.measured_cells import FIGURES, ComparedFigure, MeasuredCell
from irbench.core.row import Verdict
from irbench.options.conditions import Condition, Unit
from irbench.stats.speedups import within_band
from irbench.stats.two_samples import Shift, shift_between

FEWEST_RUNS = 4
"""With so many runs on both sides, runs are what is counted: their scatter holds what changes between runs, too."""

Counted = Literal["launches", "runs", "values", "pairs"]
"""What an interval is over. ``values``: each run has one, and there are too few runs for an interval. ``pairs``:
launches in which both sides took turns."""


ConditionOutcome = Literal["met", "not-met", "undecided", "not-measured"]
"""``undecided``: the change is beyond the limit, and its interval includes no change."""
UnjudgedReason = Literal[
    "too-few",
    "no-figure",
    "base-busy",
    "new-busy",
    "base-load",
    "new-load",
    "row-missing",
    "not-repeated",
    "uneven-load",
    "unknown-load",
    "blocks-disagree",
]
"""Why a condition could not be judged. ``too-few``: launches or runs for an interval; ``no-figure``: a side does not
have it; ``base-busy``, ``new-busy``: other programs disturbed most blocks of that side, which may hide the change;
``base-load``, ``new-load``: they did, and the condition is met, which may be for that reason alone;
``row-missing``: the older side has the row, and the newer one has no figures of it; ``not-repeated``: it is met, and a
second measurement neither confirmed nor refuted it. Of rows that took turns: ``uneven-load``: other programs were
busier in the turns of one row than in those of another; ``unknown-load``: most blocks were disturbed, and it is not
known in whose turns; ``blocks-disagree``: it is met, and the newer row is the faster one once other blocks count."""


@dataclass(frozen=True)
class FigureChange:
    """How much a figure changed.

    Attributes:
        unit: Of ``base``, ``new`` and ``difference``.
        relative: The change as a fraction of the older side, 0.05 for 5 % more: that of ``new`` over ``base``, or the
            median over pairs where those are counted; ``None`` where a value is not above 0.
        difference: The change in the figure's unit; of pairs ``relative`` times ``base``.
        exact: Whether the figure is counted and not measured, so that it needs no interval.
    """

    figure: str
    unit: Unit
    base: float
    new: float
    relative: Shift | None
    difference: Shift
    counted: Counted
    base_count: int
    new_count: int
    exact: bool = False

    @property
    def has_interval(self) -> bool:
        """Whether there were enough values for an interval at the confidence."""
        return self.difference.confidence is not None


def change_between(
    figure: ComparedFigure, base: Sequence[MeasuredCell], new: Sequence[MeasuredCell], confidence: float
) -> FigureChange | None:
    """Return the change of a figure; ``None`` where a side does not have it."""
    counted: Counted = "runs" if min(len(base), len(new)) >= FEWEST_RUNS else "launches"
    before, after = _values(figure, base, counted), _values(figure, new, counted)
    if counted == "launches" and not (before and after):
        counted = "values"
        before, after = _values(figure, base, counted), _values(figure, new, counted)
    return change_of_values(figure, before, after, counted, confidence) if before and after else None


def change_of_values(
    figure: ComparedFigure, base: Sequence[float], new: Sequence[float], counted: Counted, confidence: float
) -> FigureChange:
    """Return the change between two samples of a figure, at least one value each."""
    positive = min(*base, *new) > 0
    return FigureChange(
        figure=figure.name,
        unit=figure.unit,
        base=statistics.median(base),
        new=statistics.median(new),
        relative=_relative(base, new, confidence) if positive else None,
        difference=shift_between(base, new, confidence),
        counted=counted,
        base_count=len(base),
        new_count=len(new),
        exact=figure.exact,
    )


def verdict_of(change: FigureChange, within: float) -> Verdict:
    """Return what the interval of a time says of the newer side."""
    shift = change.relative
    if shift is None or shift.confidence is None:
        return "preview"
    low, high = math.log1p(shift.low), math.log1p(shift.high)
    if within_band(low, high, within):
        return "same"
    if low > 0:
        return "slower"
    return "faster" if high < 0 else "undecided"


def _values(figure: ComparedFigure, cells: Sequence[MeasuredCell], counted: Counted) -> list[float]:
    if counted == "launches":
        return [value for cell in cells for value in cell.by_launch(figure)]
    return [value for cell in cells if (value := cell.in_run(figure)) is not None]


def _relative(base: Sequence[float], new: Sequence[float], confidence: float) -> Shift:
    """Return the ratio of the medians less 1, in the interval of logarithms: halving and doubling weigh the same."""
    shift = shift_between(list(map(math.log, base)), list(map(math.log, new)), confidence)
    value, low, high = map(math.expm1, (shift.value, shift.low, shift.high))
    return Shift(value, low, high, shift.confidence).around(statistics.median(new) / statistics.median(base) - 1)


@dataclass(frozen=True)
class CheckedCondition:
    """One condition on one row.

    Attributes:
        outcome: By the interval of ``change``, or by one that is corrected for several conditions and rows.
        change: Of its figure; ``None`` where a side does not have it.
        relative: Whether its limit is a percentage.
        excluded: Whether it is certainly not met: the whole interval lies within the limit.
        unjudged: Why its outcome decides nothing; ``None`` where it does.
    """

    condition: str
    outcome: ConditionOutcome
    change: FigureChange | None
    relative: bool = True
    excluded: bool = False
    unjudged: UnjudgedReason | None = None

    @property
    def is_met(self) -> bool:
        """Whether it is met, and nothing keeps that from being judged."""
        return self.outcome == "met" and self.unjudged is None

    @property
    def is_significant_alone(self) -> bool:
        """Whether it is undecided for its correction alone: its own interval excludes that nothing changed."""
        if self.outcome != "undecided" or self.change is None:
            return False
        shift = (self.change.relative if self.relative else None) or self.change.difference
        return shift.confidence is not None and (shift.low > 0 or shift.high < 0)

    @property
    def is_to_repeat(self) -> bool:
        """Whether it is met or was not judged, and measuring again may decide it.

        It may not where a side lacks the figure, or a run has one value of it only.
        """
        if self.unjudged is None or self.change is None:
            return self.outcome == "met"
        return self.change.counted != "values"


@dataclass(frozen=True)
class Unjudged:
    """A condition that could not be judged on a row."""

    row: str
    condition: str
    reason: UnjudgedReason
    change: FigureChange | None = None


def checked_condition(
    condition: Condition, change: FigureChange | None, *, busy_base: bool = False, busy_new: bool = False
) -> CheckedCondition:
    """Return a condition with what a change of its figure says of it."""
    outcome = outcome_of(condition, change)
    return CheckedCondition(
        condition=condition.text,
        outcome=outcome,
        change=change,
        relative=condition.relative,
        excluded=_is_excluded(condition, change),
        unjudged=_why_unjudged(condition, change, (busy_base, busy_new), is_met=outcome == "met"),
    )


def _why_unjudged(
    condition: Condition, change: FigureChange | None, busy: tuple[bool, bool], *, is_met: bool
) -> UnjudgedReason | None:
    """Return why a change decides nothing, which was measured beside other programs on the older or the newer side.

    Load makes figures worse: that of the older side hides a loss or makes a gain, and that of the newer side makes a
    loss or hides a gain. It does not affect what was measured side by side, nor where runs are counted: their scatter
    contains it.
    """
    if change is None or _shift(condition, change) is None:
        return "no-figure"
    if change.exact:
        return None
    if not change.has_interval:
        return "too-few"
    figure = FIGURES[condition.figure]
    if not figure.depends_on_load or change.counted in ("runs", "pairs"):
        return None
    busy_base, busy_new = busy
    is_loss = condition.increase == figure.more_is_worse
    if is_met:
        return ("new-load" if busy_new else None) if is_loss else "base-load" if busy_base else None
    return ("base-busy" if busy_base else None) if is_loss else "new-busy" if busy_new else None


def outcome_of(condition: Condition, change: FigureChange | None) -> ConditionOutcome:
    """Return whether a change meets a condition.

    It does where the estimate lies beyond the limit and the interval excludes that nothing changed. Without an
    interval only figures that are counted decide: a single measured value says nothing of how much it scatters.
    """
    shift = _shift(condition, change)
    if change is None or shift is None:
        return "not-measured"
    direction = 1 if condition.increase else -1
    if direction * shift.value <= direction * condition.limit:
        return "not-met"
    return "met" if change.exact or _excludes_nothing_changed(shift, direction) else "undecided"


def _is_excluded(condition: Condition, change: FigureChange | None) -> bool:
    """Return whether a change certainly does not meet a condition: its whole interval lies within the limit."""
    shift = _shift(condition, change)
    if change is None or shift is None:
        return False
    direction = 1 if condition.increase else -1
    if change.exact:
        return direction * shift.value <= direction * condition.limit
    farthest = shift.high if condition.increase else shift.low
    return shift.confidence is not None and direction * farthest <= direction * condition.limit


def _shift(condition: Condition, change: FigureChange | None) -> Shift | None:
    """Return the change in the unit of the condition's limit."""
    return None if change is None else change.relative if condition.relative else change.difference


def _excludes_nothing_changed(shift: Shift, direction: int) -> bool:
    nearest = shift.low if direction > 0 else shift.high
    return shift.confidence is not None and direction * nearest > 0
