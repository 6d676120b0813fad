"""Ways to compare two cells: the shipped one, and two usual ones with what they themselves estimate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from irbench.spec import Timing
from irbench.stats.intervals import Bound, Interval, Looks
from irbench.stats.notice_rules.comparison_warnings import resembles_neighbours
from simulation.regimes import Array, Order, Regime, launches_of, one_after_the_other, truth_of
from simulation.shipped import decided_by, hodges_lehmann, run_until_stopped

TIMING = Timing()
_STUDENT = {3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201}
"""97.5 % points of Student's t by degrees of freedom, from the usual table."""
_NORMAL = 1.96
_SEQUENTIAL_ROUNDS = 48
"""As many as six launches of eight blocks have."""
_SELDOM = 0.05

IntervalRule = Callable[[Sequence[float], Looks, float], Interval]


@dataclass(frozen=True)
class Outcome:
    """What many runs of one method in one regime came to.

    Attributes:
        coverage: Share of runs whose interval holds the truth.
        false_positives: Share of runs that tell a backend apart from itself.
        bias: Mean error of the log ratio.
        rmse: Root of the mean squared error of the log ratio.
        launches: Mean number at which runs ended.
        warned: Share of runs whose launches resemble their neighbours beyond chance, as ``launches-depend`` says.
        runs: How many there were.
    """

    coverage: float
    false_positives: float
    bias: float
    rmse: float
    launches: float
    warned: float
    runs: int


@dataclass(frozen=True)
class Method:
    """A way to compare two cells. What is not given is as shipped.

    Attributes:
        estimate: From the cell's and the baseline's log times, blocks last, to one log ratio for each launch.
        interval: How an interval is formed.
        order: Of the cells in a block.
        estimand: Whether the median or the mean over launches is estimated.
        sequential: Whether all of one cell is measured before the other, in a process each.
    """

    estimate: Callable[[Array, Array], Array]
    interval: IntervalRule | None = None
    order: Order = "drawn"
    estimand: Literal["median", "mean"] = "median"
    sequential: bool = False


def blocks_counted(times: Array) -> Array:
    """Return the times of the blocks after the burn-in."""
    return times[..., TIMING.burn_in_blocks :]


def students_interval(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    """Return Student's 95 % interval of the mean; it knows of no other confidence."""
    count = len(values)
    middle = statistics.fmean(values)
    variance = sum((value - middle) ** 2 for value in values) / (count - 1)
    half_width = _STUDENT[count - 1] * math.sqrt(variance / count)
    return Interval(middle, middle - half_width, middle + half_width, count, confidence, Bound(1))


def for_its_own_count(values: Sequence[float], looks: Looks, confidence: float) -> Interval:
    """Return the interval between the deepest ranks that hold at one count alone; the range where none does."""
    count, ordered = len(values), sorted(values)
    rank = 0
    while 2 * sum(math.comb(count, below) for below in range(rank + 1)) <= (1 - confidence) * 2**count:
        rank += 1
    low, high = ordered[max(rank, 1) - 1], ordered[-max(rank, 1)]
    return Interval(statistics.median(ordered), low, high, count, confidence if rank else None, Bound(max(rank, 1)))


def _shipped_estimate(cell: Array, baseline: Array) -> Array:
    return hodges_lehmann(blocks_counted(cell - baseline))


IRBENCH = Method(_shipped_estimate)
SIDE_BY_SIDE = replace(IRBENCH, order="together")
"""Each of two cells on half of the processors, at the same time."""
STUDENT = replace(IRBENCH, interval=students_interval, estimand="mean")
SEQUENTIAL = replace(IRBENCH, estimand="mean", sequential=True)


@cache
def measure(method: Method, regime: Regime, runs: int, effect: float = 0.05, seed: int = 0) -> Outcome:
    """Run a method many times on a true difference, and on none with both cells treated alike.

    Args:
        method: What is judged, on what it estimates.
        regime: What disturbs it.
        runs: Of each kind.
        effect: True difference of the log times.
        seed: Of all chance.
    """
    ends, warned = _runs_of(method, regime, runs, effect, seed)
    alike, _ = _runs_of(method, regime.alike, runs, 0.0, seed + 1)
    truth = getattr(truth_of(regime, effect), method.estimand)
    errors = np.array([end.value for end in ends]) - truth
    return Outcome(
        coverage=float(np.mean([end.low <= truth <= end.high for end in ends])),
        false_positives=float(np.mean([item.low > 0 or item.high < 0 for item in alike])),
        bias=float(errors.mean()),
        rmse=float(np.sqrt((errors**2).mean())),
        launches=float(np.mean([end.count for end in ends])),
        warned=warned,
        runs=runs,
    )


def _runs_of(method: Method, regime: Regime, runs: int, effect: float, seed: int) -> tuple[list[Interval], float]:
    """Return the interval at which each run ended, and in how many launches were found to depend."""
    if method.sequential:
        return _sequential(regime, runs, effect, seed), 0.0
    shape = (runs, TIMING.max_launches, TIMING.burn_in_blocks + TIMING.blocks)
    ratios = method.estimate(*launches_of(regime, shape, effect, seed, method.order)).tolist()
    with decided_by(method.interval):
        ends = [run_until_stopped(ratio, TIMING) for ratio in ratios]
    alike = [resembles_neighbours(ratio[: end.count], _SELDOM) for ratio, end in zip(ratios, ends, strict=True)]
    return ends, float(np.mean(alike))


def _sequential(regime: Regime, runs: int, effect: float, seed: int) -> list[Interval]:
    """Return the usual interval of the difference of two means, 1.96 standard errors wide to either side."""
    cell, baseline = one_after_the_other(regime, runs, _SEQUENTIAL_ROUNDS, effect, seed)
    middles = cell.mean(axis=-1) - baseline.mean(axis=-1)
    errors = _NORMAL * np.sqrt((cell.var(axis=-1, ddof=1) + baseline.var(axis=-1, ddof=1)) / _SEQUENTIAL_ROUNDS)
    return [
        Interval(middle, middle - wide, middle + wide, 1, TIMING.confidence, Bound(1))
        for middle, wide in zip(middles.tolist(), errors.tolist(), strict=True)
    ]
