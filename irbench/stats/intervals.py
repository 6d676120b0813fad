r"""Intervals for the median over launches that hold whenever a run ends.

A run ends when its interval is narrow enough, when its budget is spent, or at Ctrl-C, so the number of launches depends
on what they showed. An interval that covers the truth with 95 % at *each* count covers it less often at the count at
which a run happens to stop. These keep the promise at all counts together: the probability that the interval of *any*
look misses is at most ``1 - confidence``.

**From six launches on, without any assumption about how launches scatter** (at 95 %): the interval lies between the
r-th smallest and the r-th largest value. The true median is missed below when fewer than r of n values lie below it,
and each does with probability 1/2, so misses are the crossings of a random walk, and their union over all looks is
summed exactly. Six to twelve launches get the ranks 1, 1, 1, 1, 2, 2, 2, which together miss in 4.3 % of runs.
Source for one look: David and Nagaraja, "Order Statistics", 3rd edition (2003), section 7.1.

**Before that, assuming that launches scatter around one most frequent value:** the range, stretched by k times itself
at both ends. Let n values have a density that falls with the distance from the median on either side. All of them lie
above it with probability 2^-n. Given that, their distances x from the median have a falling density, so their
distribution function F is concave and F(x) - F(c x) <= (1 - c) F(x); hence the smallest exceeds c times the largest
with probability n * integral of f(x) (F(x) - F(c x))^(n-1) <= (1 - c)^(n-1). The stretched range misses below when
min > k (max - min), that is for c = k / (1 + k), with probability at most 2^-n (1 + k)^-(n-1); above likewise.
Related: Blachman and Machol, "Confidence Intervals Based on One or More Observations", IEEE Trans. Information Theory
33 (1987). Where the assumption fails, the range alone still misses in at most 2^(1-n) of looks.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irbench.spec import Timing


def hodges_lehmann(values: ArrayLike) -> float:
    """Return the median of the means of all pairs of values, each value paired with itself too.

    For normal data it needs 5 % more values than the mean for the same precision, and it bears
    29 % of arbitrary values. Negating the values negates it.
    Source: Hodges and Lehmann, "Estimates of Location Based on Rank Tests", Ann. Math. Statist. 34 (1963).
    """
    sample = np.asarray(values, np.float64)
    if not sample.size:
        raise ValueError("an estimate needs at least one value")
    first, second = _pairs(sample.size)
    return float(np.median((sample[first] + sample[second]) / 2))


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return both places of each pair; tables of many rows compare as many values hundreds of thousands of times."""
    first, second = np.triu_indices(count)
    return first, second


def median(values: ArrayLike) -> float:
    """Return the middle value, or the mean of the two middle ones."""
    return percentile(values, 50)


def percentile(values: ArrayLike, percent: float) -> float:
    """Return a percentile by linear interpolation between the two nearest order statistics.

    Of n sorted values the p-th percentile lies at position (n - 1) p / 100, counted from 0: definition 7 of
    Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50 (1996).
    """
    sample = np.asarray(values, np.float64)
    if not sample.size:
        raise ValueError("an estimate needs at least one value")
    return float(np.percentile(sample, percent, method="linear"))


def ranks_of(values: ArrayLike) -> NDArray[np.float64]:
    """Return the rank of each value, from 1; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2
    ranks: NDArray[np.float64] = mean_ranks[inverse]
    return ranks


FEWEST_LAUNCHES = 6
"""Of launches that are looked at once: the range of fewer misses their median in more than 5 % of cases."""
MOST_LAUNCHES = 200
"""The latest look: the bounds of all looks take seconds to compute then, and eight times as long with twice as many."""
FOR_RANKS = (0.9, 0.7, 0.5)
"""Shares of the allowed misses that order statistics may use where earlier looks need some too."""
_WIDEST_STRETCH = 2.0
"""The largest of these shares is taken that leaves the first look no wider; with the last, whatever it leaves."""


@dataclass(frozen=True)
class Looks:
    """At how many launches an interval may be looked at: from ``first`` to ``last``."""

    first: int
    last: int


@dataclass(frozen=True)
class Bound:
    """How an interval is made of n sorted values.

    Attributes:
        rank: Its ends are the ``rank``-th smallest and largest value.
        stretch: By how many times the range the ends are moved outwards; above 0 only with rank 1.
    """

    rank: int
    stretch: float = 0.0


class EndFields(TypedDict):
    """The fields of a row's figure that say between which values it lies: :class:`irbench.core.row.WithEnds`."""

    low: float | None
    high: float | None
    range_low: float | None
    range_high: float | None


@dataclass(frozen=True)
class Interval:
    """A median with an interval around it, in the unit of the values.

    Attributes:
        confidence: Probability that the intervals of all looks hold the true median; ``None`` where there are too few
            values for one, and the ends are those of the range.
        bound: How the ends were chosen.
    """

    value: float
    low: float
    high: float
    count: int
    confidence: float | None
    bound: Bound

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    def ends(self, unit: Callable[[float], float] = float) -> EndFields:
        """Return its ends as rows have them: those of an interval, or of a range; neither with a single value.

        ``unit`` makes the figure's unit of the values', in the same order.
        """
        low, high = unit(self.low), unit(self.high)
        if self.confidence is not None:
            return EndFields(low=low, high=high, range_low=None, range_high=None)
        if self.count < 2:
            return EndFields(low=None, high=None, range_low=None, range_high=None)
        return EndFields(low=None, high=None, range_low=low, range_high=high)

    @property
    def assumes_one_mode(self) -> bool:
        """Whether it rests on the assumption that launches scatter around one most frequent value."""
        return self.confidence is not None and self.bound.stretch > 0

    def __neg__(self) -> Interval:
        return Interval(-self.value, -self.high, -self.low, self.count, self.confidence, self.bound)


def looks_of(timing: Timing) -> Looks:
    """Return at how many launches a run of these numbers may end by its own rule."""
    return Looks(timing.min_launches, timing.max_launches)


def interval_at(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    """Return the median with the interval of this look."""
    ordered = sorted(values)
    count = len(ordered)
    bound = bounds(looks, round(1 - confidence, 12)).get(min(count, looks.last)) if count >= looks.first else None
    known = bound or Bound(1)
    reach = known.stretch * (ordered[-1] - ordered[0]) if ordered else 0.0
    return Interval(
        value=statistics.median(ordered),
        low=ordered[known.rank - 1] - reach,
        high=ordered[-known.rank] + reach,
        count=count,
        confidence=None if bound is None else confidence,
        bound=known,
    )


@cache
def bounds(looks: Looks, miss: float) -> Mapping[int, Bound]:
    """Return how the interval of each look is made, so that all together miss with probability ``miss`` at most.

    Ranks are raised one look after the other as soon as the union of all misses so far allows it. Looks for which even
    the range misses too often get the range, stretched; what the order statistics leave over is shared between them,
    and they are given less where it would be so little that the first look could decide nothing.
    A run that missed at such a look of n launches would in 2^(n-m) of cases also miss at the first exact look of m,
    where it is counted already.

    Args:
        looks: At how many launches.
        miss: Two-sided, above 0 and below 1.
    """
    plain = _ranks(looks, miss)
    if looks.first in plain:
        return {count: Bound(rank) for count, rank in plain.items()}
    known: dict[int, Bound] = {}
    for share in FOR_RANKS:
        known = _with_early_looks(_ranks(looks, miss * share), looks, miss)
        if max((bound.stretch for bound in known.values()), default=0.0) <= _WIDEST_STRETCH:
            break
    return known


def _with_early_looks(ranks: Mapping[int, int], looks: Looks, miss: float) -> dict[int, Bound]:
    """Return the bounds of all looks, given the ranks of the later ones."""
    exact = min(ranks, default=looks.last + 1)
    early = [count for count in range(max(2, looks.first), looks.last + 1) if count < exact]
    left = miss - _union_of_misses(ranks, looks.last)
    new = sum(1.0 if exact > looks.last else 1 - 2.0 ** (count - exact) for count in early)
    later = {count: Bound(rank) for count, rank in ranks.items()}
    return {**later, **{count: Bound(1, _stretch(count, left / new)) for count in early}}


def _ranks(looks: Looks, miss: float) -> dict[int, int]:
    """Return the largest rank at each look that the union of misses allows; looks without one are left out."""
    ranks: dict[int, int] = {}
    rank = 0
    for count in range(looks.first, looks.last + 1):
        while 2 * (rank + 1) <= count and _union_of_misses({**ranks, count: rank + 1}, count) <= miss:
            rank += 1
        if rank:
            ranks[count] = rank
    return ranks


def _union_of_misses(ranks: Mapping[int, int], last: int) -> float:
    """Return the probability that fewer than the look's rank of values lie on one side of the median at some look."""
    alive, missed = {0: 1.0}, 0.0  # by how many of the values so far lie below the median
    for count in range(1, last + 1):
        grown: dict[int, float] = {}
        for below, chance in alive.items():
            for now in (below, below + 1):
                grown[now] = grown.get(now, 0.0) + chance / 2
        rank = ranks.get(count, 0)
        missed += sum(chance for below, chance in grown.items() if min(below, count - below) < rank)
        alive = {below: chance for below, chance in grown.items() if min(below, count - below) >= rank}
    return missed


def _stretch(count: int, miss: float) -> float:
    return max(0.0, math.pow(2.0 ** (1 - count) / miss, 1 / (count - 1)) - 1)
