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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_VALUES = 8
"""With fewer values no order is rare enough."""
_ORDERS = 999
_LEAST_PART = 2
_LEVEL = 0.05
_SEED = 20140101
_ROUNDING = 1e-9
"""Orders that are as large as the one that was measured, such as its mirror image, differ by the rounding of sums."""


@dataclass(frozen=True)
class ChangePoint:
    """One change of level.

    Attributes:
        position: Of the first value of the new level, counted from 0.
        p_value: Share of random orders of the values around it that have a split as large.
    """

    position: int
    p_value: float


def change_points(values: Sequence[float], level: float = _LEVEL) -> tuple[ChangePoint, ...]:
    """Return where the level of a series changed, from left to right."""
    series = np.asarray(values, np.float64)
    return tuple(sorted(_splits(series, 0, level), key=lambda split: split.position))


def _splits(series: NDArray[np.float64], start: int, level: float) -> Iterator[ChangePoint]:
    if series.size < FEWEST_VALUES or series.min() == series.max():
        return
    largest_split = _Statistic(series.size).largest_split
    place, largest = largest_split(series)
    p_value = _p_value(series, largest_split, largest, level)
    if p_value > level:
        return
    yield ChangePoint(start + place, p_value)
    yield from _splits(series[:place], start, level)
    yield from _splits(series[place:], start + place, level)


def _p_value(
    series: NDArray[np.float64],
    largest_split: Callable[[NDArray[np.float64]], tuple[int, float]],
    largest: float,
    level: float,
) -> float:
    """Return the share of random orders with a split as large; where it exceeds ``level``, a lower bound that does.

    Most series have no change, and of theirs a few dozen orders are enough to see that.
    """
    generator = np.random.default_rng(_SEED)
    as_large = 0
    for _ in range(_ORDERS):
        as_large += largest_split(series[generator.permutation(series.size)])[1] >= largest * (1 - _ROUNDING)
        if 1 + as_large > level * (1 + _ORDERS):
            break
    return (1 + as_large) / (1 + _ORDERS)


class _Statistic:
    """The statistic of every split of a series of some length.

    The part to the right may end before the series does: otherwise a level that came back would hide the one between.
    With S(p, e) the sum of distances between the first p values and the first e, the statistic of a split at p whose
    right part ends at e is a weighted sum of S(p, e), S(p, p) and S(e, e). Matrices are made once for all orders: it
    takes longer to get the memory than to compute.
    """

    def __init__(self, count: int) -> None:
        self._between, self._left, self._right = _weights(count)
        self._distances, self._statistic, self._part = (np.empty((count, count)) for _ in range(3))

    def largest_split(self, series: NDArray[np.float64]) -> tuple[int, float]:
        distances, statistic, part = self._distances, self._statistic, self._part
        np.abs(np.subtract(series[:, None], series, out=distances), out=distances)
        np.cumsum(np.cumsum(distances, axis=0, out=distances), axis=1, out=statistic)
        within = statistic.diagonal().copy()
        statistic *= self._between
        statistic += np.multiply(self._left, within[:, None], out=part)
        statistic += np.multiply(self._right, within, out=part)
        best = int(statistic.argmax())
        return best // series.size + 1, float(statistic.flat[best])


def _weights(count: int) -> tuple[NDArray[np.float64], ...]:
    """Return the weights of S(p, e), S(p, p) and S(e, e) by p - 1 and e - 1: 0 where a part would be too short."""
    places, ends = np.triu_indices(count + 1, _LEAST_PART)
    kept = places >= _LEAST_PART
    places, ends = places[kept], ends[kept]
    left, right = places.astype(np.float64), (ends - places).astype(np.float64)
    scale = left * right / (left + right)
    between, within_left, within_right = 2 / (left * right), 1 / (left * (left - 1)), 1 / (right * (right - 1))
    weights = (
        scale * (between + 2 * within_right),
        -scale * (between + within_left + within_right),
        -scale * within_right,
    )
    matrices = tuple(np.zeros((count, count)) for _ in weights)
    for matrix, values in zip(matrices, weights, strict=True):
        matrix[places - 1, ends - 1] = values
    return matrices
