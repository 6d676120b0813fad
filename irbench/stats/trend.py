"""The trend of a series of equally spaced values, with an interval that allows for autocorrelation.

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
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

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
        high: Upper end.
    """

    slope: float
    low: float
    high: float


def trend_of(values: Sequence[float], confidence: float = 0.95) -> Trend | None:
    """Return the trend of equally spaced values; ``None`` where there are fewer than :data:`FEWEST_VALUES`.

    Args:
        values: In any unit.
        confidence: Of the interval.
    """
    series = np.asarray(values, np.float64)
    if series.size < FEWEST_VALUES:
        return None
    first, second = np.triu_indices(series.size, 1)
    slopes = np.sort((series[second] - series[first]) / (second - first))
    slope = float(np.median(slopes))
    residuals = _ranks(series - slope * np.arange(series.size))
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


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2
    ranks: NDArray[np.float64] = mean_ranks[inverse]
    return ranks


def _autocorrelations(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocorrelation at each lag from 1; zeros where all values are equal."""
    centred = ranks - ranks.mean()
    power = float(centred @ centred)
    if not power:
        return np.zeros(ranks.size - 1)
    found: NDArray[np.float64] = np.correlate(centred, centred, "full")[ranks.size :] / power
    return found


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
