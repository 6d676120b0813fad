"""The change of a figure between two rows that took turns in the same launches, which no drift of the machine makes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from irbench.across_runs.changes import FigureChange
from irbench.across_runs.measured_cells import CellSamples, ComparedFigure
from irbench.stats.intervals import Interval
from irbench.stats.speedups import launch_ratios
from irbench.stats.two_samples import Shift


def log_ratios(figure: ComparedFigure, base: CellSamples, new: CellSamples) -> Sequence[float]:
    """Return ln(new / base) of each launch that measured both rows of a table; of times block by block.

    Nothing where a launch has no such figure, or one that is not above 0.
    """
    if figure.name == "time":
        return launch_ratios(new.launches, new.row.id, base.row.id)
    before, after = (_in_common(figure, own, base, new) for own in (base, new))
    if len(before) != len(after) or min((*before, *after), default=0) <= 0:
        return ()
    return [math.log(last / first) for first, last in zip(before, after, strict=True)]


def change_in_pairs(figure: ComparedFigure, base: CellSamples, new: CellSamples, interval: Interval) -> FigureChange:
    """Return the change that an interval of :func:`log_ratios` says.

    Args:
        figure: Of which each launch has a value.
        base: Of the older row.
        new: Of the newer row.
        interval: Of its log ratios.
    """
    value, low, high = map(math.expm1, (interval.value, interval.low, interval.high))
    before, after = (statistics.median(_in_common(figure, own, base, new)) for own in (base, new))
    return FigureChange(
        figure=figure.name,
        unit=figure.unit,
        base=before,
        new=after,
        relative=Shift(value, low, high, interval.confidence),
        difference=Shift(before * value, before * low, before * high, interval.confidence),
        counted="pairs",
        base_count=interval.count,
        new_count=interval.count,
    )


def _in_common(figure: ComparedFigure, own: CellSamples, base: CellSamples, new: CellSamples) -> Sequence[float]:
    """Return the figure of a row in each launch that counts for both: each with both, where load does not matter."""
    both = (base.row.id, new.row.id)
    leaves_out = figure.depends_on_load and figure.by_start is None
    places = [
        place
        for place, (record, launch) in enumerate(zip(own.records, own.launches, strict=True))
        if (launch.counts_for(*both) if leaves_out else {cell.cell for cell in record.cells}.issuperset(both))
    ]
    return figure.in_pairs(
        replace(
            own,
            records=[own.records[place] for place in places],
            launches=[replace(own.launches[place], left_out=frozenset()) for place in places],
        )
    )
