r"""Where the level of a series changed: E-divisive, a permutation test for steps in short series of any distribution.

A series of n values is split where both parts differ most, by the energy statistic

    Q = m k / (m + k) * (2 mean|x - y| - mean|x - x'| - mean|y - y'|)

of parts with m and k values, of which each has two at least. The split is kept if at most 5 % of random orders of the
same values have a split as large, and both parts are searched again. Nothing is assumed of the distribution; values are
assumed to be independent as long as the level does not change, so a slow drift is found as steps. The orders are drawn
from a fixed seed: the same series always has the same change points.

With few values no split can be that rare. Of eight equal runs and two slower ones the order is one of 45, and as rare
with the slower ones first, so p is 0.044; six and two are too few.
Source: Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109
(2014).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST_VALUES", "Split", "change_points"]

FEWEST_VALUES = 8
"""With fewer values no order is rare enough."""
_ORDERS = 999
_LEAST_PART = 2
_LEVEL = 0.05
_SEED = 20140101


@dataclass(frozen=True)
class Split:
    """One change of level.

    Attributes:
        position: Of the first value of the new level, counted from 0.
        p_value: Share of random orders of the values around it that have a split as large.
    """

    position: int
    p_value: float


def change_points(values: Sequence[float], level: float = _LEVEL) -> tuple[Split, ...]:
    """Return where the level of a series changed, from left to right.

    Args:
        values: In the order in which they were measured, any unit.
        level: The largest p-value that counts.
    """
    series = np.asarray(values, np.float64)
    return tuple(sorted(_splits(series, 0, level), key=lambda split: split.position))


def _splits(series: NDArray[np.float64], start: int, level: float) -> Iterator[Split]:
    """Yield the splits of a part of the series that begins at ``start``."""
    if series.size < FEWEST_VALUES:
        return
    distances = np.abs(series[:, None] - series[None, :])
    place, largest = _largest_split(distances)
    p_value = _p_value(distances, largest)
    if p_value > level:
        return
    yield Split(start + place, p_value)
    yield from _splits(series[:place], start, level)
    yield from _splits(series[place:], start + place, level)


def _p_value(distances: NDArray[np.float64], largest: float) -> float:
    generator = np.random.default_rng(_SEED)
    as_large = 0
    for _ in range(_ORDERS):
        order = generator.permutation(len(distances))
        as_large += _largest_split(distances[np.ix_(order, order)])[1] >= largest * (1 - 1e-12)
    return (1 + as_large) / (1 + _ORDERS)


def _largest_split(distances: NDArray[np.float64]) -> tuple[int, float]:
    """Return the place of the split with the largest statistic, and that statistic.

    The part to the right may end before the series does: otherwise a level that came back would hide the one between.
    """
    places, ends = _candidates(len(distances))
    sums = np.zeros((len(distances) + 1, len(distances) + 1))
    sums[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    left, right = places.astype(np.float64), (ends - places).astype(np.float64)
    within_left = sums[places, places]
    between = sums[places, ends] - within_left
    within_right = sums[ends, ends] - 2 * between - within_left
    means = 2 * between / (left * right)
    means -= within_left / (left * (left - 1)) + within_right / (right * (right - 1))
    statistic = left * right / (left + right) * means
    best = int(np.argmax(statistic))
    return int(places[best]), float(statistic[best])


@cache
def _candidates(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return every place of a split with every end of the part to its right."""
    places, ends = np.triu_indices(count + 1, _LEAST_PART)
    kept = places >= _LEAST_PART
    return places[kept], ends[kept]
