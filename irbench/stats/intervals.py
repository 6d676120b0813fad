"""The median over launches and its interval, exact for every continuous distribution.

A Student interval assumes launches to scatter normally. They do not: runtimes have fast and slow
launches, and then it covers the truth in two runs of three where it promises nineteen of twenty.
Counting launches below and above the median assumes nothing but that they are independent.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Interval", "deepest_rank", "launches_for", "median_interval", "one_sided_miss", "ranked_interval"]


@dataclass(frozen=True)
class Interval:
    """A median with two order statistics around it, in the unit of the values.

    Attributes:
        value: The sample's median.
        low: The ``rank``-th smallest value.
        high: The ``rank``-th largest value.
        rank: 1 for the range.
        count: How many values there were.
    """

    value: float
    low: float
    high: float
    rank: int
    count: int

    @property
    def coverage(self) -> float:
        """Probability that the interval holds the median that the values were drawn around."""
        return 1 - 2 * one_sided_miss(self.count, self.rank)

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    def __neg__(self) -> Interval:
        """Return the interval of the negated values."""
        return Interval(-self.value, -self.high, -self.low, self.rank, self.count)


def one_sided_miss(count: int, rank: int) -> float:
    """Return the probability that the true median lies below the ``rank``-th smallest of ``count`` values.

    That happens when fewer than ``rank`` values fall below it, and each does with probability 1/2:
    the sum over i < rank of C(count, i) / 2**count. The same holds above the ``rank``-th largest.
    Source: David and Nagaraja, "Order Statistics", 3rd edition (2003), section 7.1.
    """
    return sum(math.comb(count, below) for below in range(rank)) / float(2**count)


def deepest_rank(count: int, miss: float) -> int:
    """Return the largest rank whose one-sided miss is at most ``miss``; 0 when the range misses more often."""
    rank = 0
    while 2 * (rank + 1) <= count and one_sided_miss(count, rank + 1) <= miss:
        rank += 1
    return rank


def launches_for(miss: float) -> int:
    """Return how many values a range needs so that each of its ends misses with probability ``miss`` at most."""
    count = 1
    while one_sided_miss(count, 1) > miss:
        count += 1
    return count


def median_interval(values: Sequence[float], confidence: float) -> Interval:
    """Return the median with the narrowest symmetric interval that covers at least ``confidence``.

    Six values give their range (96.9 %), nine leave one out at each end (96.1 %), twelve two (96.1 %).
    With too few values for ``confidence`` it is the range, whose ``coverage`` says what it is worth.

    Raises:
        statistics.StatisticsError: There are no values.
    """
    return ranked_interval(values, max(1, deepest_rank(len(values), (1 - confidence) / 2)))


def ranked_interval(values: Sequence[float], rank: int) -> Interval:
    """Return the median between the ``rank``-th smallest and the ``rank``-th largest value.

    Raises:
        statistics.StatisticsError: There are no values.
    """
    ordered = sorted(values)
    return Interval(statistics.median(ordered), ordered[rank - 1], ordered[-rank], rank, len(ordered))
