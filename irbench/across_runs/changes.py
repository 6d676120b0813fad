"""How much a figure of a cell changed from one side to the other, with an interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from irbench.across_runs.measured_cells import ComparedFigure, MeasuredCell
from irbench.core.row import Verdict
from irbench.options.conditions import Unit
from irbench.stats.compare import within_band
from irbench.stats.two_samples import Shift, shift_between

FEWEST_RUNS = 4
"""With so many runs on both sides, runs are what is counted: their scatter holds what changes between runs, too."""

Counted = Literal["launches", "runs", "values", "pairs"]
"""What an interval is over. ``values``: each run has one, and there are too few runs for an interval. ``pairs``:
launches in which both sides took turns."""


@dataclass(frozen=True)
class Change:
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
) -> Change | None:
    """Return the change of a figure; ``None`` where a side does not have it."""
    counted: Counted = "runs" if min(len(base), len(new)) >= FEWEST_RUNS else "launches"
    before, after = _values(figure, base, counted), _values(figure, new, counted)
    if counted == "launches" and not (before and after):
        counted = "values"
        before, after = _values(figure, base, counted), _values(figure, new, counted)
    return change_of_values(figure, before, after, counted, confidence) if before and after else None


def change_of_values(
    figure: ComparedFigure, base: Sequence[float], new: Sequence[float], counted: Counted, confidence: float
) -> Change:
    """Return the change between two samples of a figure, at least one value each."""
    positive = min(*base, *new) > 0
    return Change(
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


def verdict_of(change: Change, within: float) -> Verdict:
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
