"""Whether a process grows with its calls or becomes slower: the trend of a series, and the figures of a row from it.

Resident memory grows in steps: a runtime's pools reach their size in the first calls, and an allocator asks for memory
in pieces. So the first blocks are left out by their position, the slope is a robust one
(:func:`trend_of`), and a process *grows* only if both hold:

- the whole interval of the slope lies above the limit;
- each of six parts of the series lies above the one before, by at least half of what the limit allows between them.
  Up to four steps alone cannot do that, wherever they are. Of random walks, whose values depend on each other more
  than any estimate can tell, 3 % do (1 of 2^5).

It is *steady* if the whole interval lies below the limit.

The slope is the median of the slopes of all pairs, which a few outliers do not move: Theil (1950), and Sen,
"Estimates of the Regression Coefficient Based on Kendall's Tau", J. Am. Statist. Assoc. 63 (1968). Its interval
follows from the variance of Kendall's S, ties included: Gilbert, "Statistical Methods for Environmental Pollution
Monitoring" (1987), chapters 16 and 17.

Values that resemble their neighbours say less than independent ones. The variance is multiplied for that, by the larger
of two factors, both of the ranks of what is left without the trend:

- the sum over all lags at which they are significantly correlated: Hamed and Rao, "A Modified Mann-Kendall Trend Test
  for Autocorrelated Data", J. Hydrology 204 (1998). Negative correlations, which would narrow the interval, are left
  out;
- that of a first-order autoregression with the correlation of neighbours: Yue and Wang, "The Mann-Kendall Test Modified
  by Effective Sample Size", Water Resources Management 18 (2004). A short series shows less correlation than it has, by
  (1 + 4 r) / n for the correlation r: Kendall, "Note on Bias in the Estimation of Autocorrelation", Biometrika 41
  (1954), which is corrected, with 2 in the place of 1 because the trend was taken from the same values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from irbench.core.soak_row import Growth, LatencyDrift, MemoryTrend, SoakRow, SoakSeries, SoakTable
from irbench.stats.intervals import median, ranks_of

FEWEST_VALUES = 24
"""With fewer values an autocorrelation is not known well enough for an interval."""
_SIGNIFICANT = 1.96
_CLOSEST = 0.98
"""The strongest correlation of neighbours that is corrected for: what is beyond cannot be told from a trend."""


@dataclass(frozen=True)
class Trend:
    """A slope with its interval, per step of the series.

    Attributes:
        slope: The median slope of all pairs.
        low: Lower end of the interval.
    """

    slope: float
    low: float
    high: float


def trend_of(values: Sequence[float], confidence: float = 0.95) -> Trend | None:
    """Return the trend of equally spaced values; ``None`` where there are fewer than :data:`FEWEST_VALUES`."""
    series = np.asarray(values, np.float64)
    if series.size < FEWEST_VALUES:
        return None
    first, second = np.triu_indices(series.size, 1)
    slopes = np.sort((series[second] - series[first]) / (second - first))
    slope = float(np.median(slopes))
    residuals = ranks_of(series - slope * np.arange(series.size))
    variance = _variance_of_s(series) * max(1.0, *inflations(_autocorrelations(residuals)))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    low = max(0, math.floor((slopes.size - reach) / 2) - 1)  # Gilbert counts slopes from 1
    high = min(slopes.size - 1, math.ceil((slopes.size + reach) / 2))
    return Trend(slope, float(slopes[low]), float(slopes[high]))


def _variance_of_s(series: NDArray[np.float64]) -> float:
    """Return the variance of Kendall's S of independent values, with its correction for ties."""
    _, ties = np.unique(series, return_counts=True)

    def term(count: NDArray[np.int64] | int) -> NDArray[np.int64] | int:
        return count * (count - 1) * (2 * count + 5)

    return float(term(series.size) - np.sum(term(ties))) / 18


def _autocorrelations(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = ranks - ranks.mean()
    power = float(centred @ centred)
    if not power:
        return np.zeros(ranks.size - 1)
    correlations: NDArray[np.float64] = np.correlate(centred, centred, "full")[ranks.size :] / power
    return correlations


def inflations(correlations: NDArray[np.float64]) -> tuple[float, float]:
    """Return by how much both methods multiply the variance."""
    count = correlations.size + 1
    lags = np.arange(1, count)
    counted = np.where(correlations > _SIGNIFICANT / math.sqrt(count), correlations, 0.0)
    weights = (count - lags) * (count - lags - 1.0) * (count - lags - 2.0)
    significant = 1 + 2 / (count * (count - 1) * (count - 2)) * float(weights @ counted)
    neighbours = min(_CLOSEST, max(0.0, (count * float(correlations[0]) + 2) / (count - 4)))
    autoregressive = 1 + 2 * float((1 - lags / count) @ neighbours**lags)
    return significant, autoregressive


_LEFT_OUT = 6
"""One block of so many is left out at the beginning."""
_PARTS = 6
_LEAST_STEP = 0.5
"""What a part must lie above the one before, as a share of what the limit allows."""


def blocks_left_out(blocks: int) -> int:
    """Return how many blocks at the beginning of a series do not count."""
    return -(-blocks // _LEFT_OUT)


def memory_trend(series: SoakSeries, growth_limit: float, confidence: float) -> MemoryTrend | None:
    """Return how memory grows with calls; ``None`` where no block counts."""
    first = blocks_left_out(len(series.resident_bytes))
    sizes, calls = series.resident_bytes[first:], series.calls[first:]
    if not sizes:
        return None
    per_block = _calls_per_block(calls)
    trend = trend_of(sizes, confidence)
    slope = None if trend is None else Trend(*(end / per_block for end in (trend.slope, trend.low, trend.high)))
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
    trend = trend_of([math.log(max(1, median_ns)) for median_ns in medians], confidence)
    if trend is None:
        return None
    steps = len(medians) - 1
    return LatencyDrift(*(math.expm1(end * steps) for end in (trend.slope, trend.low, trend.high)))


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
    """Return a row with what follows from its series; as it is where it has none."""
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
