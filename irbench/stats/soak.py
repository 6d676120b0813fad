"""Whether a process grows with its calls, and whether it becomes slower: from the series of a row to its figures.

Resident memory grows in steps: a runtime's pools reach their size in the first calls, and an allocator asks for memory
in pieces. So the first blocks are left out by their position, the slope is a robust one
(:mod:`irbench.stats.trend`), and a process *grows* only if both hold:

- the whole interval of the slope lies above the limit;
- each of six parts of the series lies above the one before, by at least half of what the limit allows between them.
  Up to four steps alone cannot do that, wherever they are. Of random walks, whose values depend on each other more
  than any estimate can tell, 3 % do (1 of 2^5).

It is *steady* if the whole interval lies below the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from irbench.core.soak_row import Growth, LatencyDrift, MemoryTrend, SoakRow, SoakSeries, SoakTable
from irbench.stats.intervals import median
from irbench.stats.trend import Trend, trend_of

_LEFT_OUT = 6
"""One block of so many is left out at the beginning."""
_PARTS = 6
_LEAST_STEP = 0.5
"""What a part must lie above the one before, as a share of what the limit allows."""


def blocks_left_out(blocks: int) -> int:
    """Return how many blocks at the beginning of a series do not count."""
    return -(-blocks // _LEFT_OUT)


def memory_trend(series: SoakSeries, growth_limit: float, confidence: float) -> MemoryTrend | None:
    """Return how memory grows with calls; ``None`` where no block counts.

    Args:
        series: Every block of the row.
        growth_limit: Bytes per call from which on growth matters.
        confidence: Of the interval.
    """
    first = blocks_left_out(len(series.resident_bytes))
    sizes, calls = series.resident_bytes[first:], series.calls[first:]
    if not sizes:
        return None
    per_block = _calls_per_block(calls)
    found = trend_of(sizes, confidence)
    slope = None if found is None else Trend(*(end / per_block for end in (found.slope, found.low, found.high)))
    return MemoryTrend(
        bytes_per_call=None if slope is None else slope.slope,
        low=None if slope is None else slope.low,
        high=None if slope is None else slope.high,
        verdict="undecided" if slope is None else verdict_of_growth(slope, sizes, per_block, growth_limit),
        blocks=len(sizes),
        start_bytes=sizes[0],
        end_bytes=sizes[-1],
    )


def latency_drift(series: SoakSeries, confidence: float) -> LatencyDrift | None:
    """Return how much slower calls became over the blocks that count; ``None`` where there are too few."""
    medians = series.median_ns[blocks_left_out(len(series.median_ns)) :]
    found = trend_of([math.log(max(1, median_ns)) for median_ns in medians], confidence)
    if found is None:
        return None
    steps = len(medians) - 1
    return LatencyDrift(*(math.expm1(end * steps) for end in (found.slope, found.low, found.high)))


def verdict_of_growth(slope: Trend, sizes: Sequence[float], calls_per_block: float, limit: float) -> Growth:
    """Return what the interval of a slope says, in bytes per call, against the growth that matters."""
    if slope.high < limit:
        return "steady"
    return "grows" if slope.low > limit and rises_throughout(sizes, limit * calls_per_block) else "undecided"


def rises_throughout(sizes: Sequence[float], limit_per_block: float) -> bool:
    """Tell whether each part of a soak lies above the one before it, by more than a share of the limit."""
    levels = [median(part) for part in np.array_split(np.asarray(sizes, np.float64), _PARTS)]
    least = _LEAST_STEP * limit_per_block * len(sizes) / _PARTS
    return all(after - before > least for before, after in pairwise(levels))


def _calls_per_block(calls: Sequence[int]) -> float:
    return (calls[-1] - calls[0]) / (len(calls) - 1) if len(calls) > 1 else 1.0


def derive_soak_table(table: SoakTable) -> SoakTable:
    """Return a table whose figures follow from the series of its rows."""
    return replace(table, rows=tuple(with_trends(row, table.growth_limit, table.confidence) for row in table.rows))


def with_trends(row: SoakRow, growth_limit: float, confidence: float) -> SoakRow:
    """Return a row with what follows from its series; as it is where it has none.

    Args:
        row: With its series.
        growth_limit: Bytes per call from which on growth matters.
        confidence: Of each interval.
    """
    series = row.series
    if series is None or not series.calls:
        return row
    counted = series.median_ns[blocks_left_out(len(series.median_ns)) :]
    return replace(
        row,
        p50_ms=median(counted) / 1e6 if counted else None,
        calls=series.calls[-1],
        seconds=series.elapsed_ns[-1] / 1e9,
        memory=memory_trend(series, growth_limit, confidence),
        drift=latency_drift(series, confidence),
    )
