"""Robust estimators of location, which a single slow call, block or launch does not change much."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def hodges_lehmann(values: ArrayLike) -> float:
    """Return the median of the means of all pairs of values, each value paired with itself too.

    For normal data it needs 5 % more values than the mean for the same precision, and it bears
    29 % of arbitrary values. Negating the values negates it.
    Source: Hodges and Lehmann, "Estimates of Location Based on Rank Tests", Ann. Math. Statist. 34 (1963).

    Args:
        values: One-dimensional, any unit.

    Raises:
        ValueError: There are no values.
    """
    sample = np.asarray(values, np.float64)
    if not sample.size:
        raise ValueError("an estimate needs at least one value")
    first, second = np.triu_indices(sample.size)
    return float(np.median((sample[first] + sample[second]) / 2))


def median(values: ArrayLike) -> float:
    """Return the middle value, or the mean of the two middle ones.

    Raises:
        ValueError: There are no values.
    """
    return percentile(values, 50)


def percentile(values: ArrayLike, percent: float) -> float:
    """Return a percentile by linear interpolation between the two nearest order statistics.

    Of n sorted values the p-th percentile lies at position (n - 1) p / 100, counted from 0: definition 7 of
    Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996).

    Raises:
        ValueError: There are no values.
    """
    sample = np.asarray(values, np.float64)
    if not sample.size:
        raise ValueError("an estimate needs at least one value")
    return float(np.percentile(sample, percent, method="linear"))
