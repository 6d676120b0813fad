"""How often an interval misses at some look or other, wherever a run stops: by its rule, its budget or Ctrl-C.

The promise is that the intervals of all looks together miss in at most 5 % of runs. So whatever decides when a run
ends, with all that it has seen, the interval that is shown misses no more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from irbench.stats.intervals import Bound, Looks, bounds
from simulation.regimes import SLOWER, Array, Regime, truth_of

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


@dataclass(frozen=True)
class Scatter:
    """How launches lie around their true median, which is 0.

    Attributes:
        draw: Values of a shape.
        one_mode: Whether their density falls on either side of the median, as early looks assume.
    """

    draw: Draw
    one_mode: bool


@dataclass(frozen=True)
class Misses:
    """Shares of runs.

    Attributes:
        early: Whose interval misses at a look that stretches the range.
        anywhere: Whose interval misses at any look.
    """

    early: float
    anywhere: float


def _two_speeds(share: float) -> Draw:
    """Return launches of which a share is 8 % slower, all with a scatter of 1 %, around the median of them all."""
    middle = truth_of(Regime(launch_sd=0.01 / math.sqrt(2), slow_share=share, only_one=True), 0.0).median

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> Array:
        return random.normal(-middle, 0.01, shape) + SLOWER * (random.random(shape) < share)

    return draw


def _three_speeds(random: np.random.Generator, shape: tuple[int, int]) -> Array:
    away = random.choice([-0.08, 0.0, 0.08], size=shape, p=[0.2, 0.6, 0.2])
    return random.normal(0, 0.01, shape) + away


LAUNCHES = {
    "normal": Scatter(lambda random, shape: random.normal(size=shape), one_mode=True),
    "uniform": Scatter(lambda random, shape: random.uniform(-1, 1, shape), one_mode=True),
    "heavy tails (Cauchy)": Scatter(lambda random, shape: random.standard_cauchy(shape), one_mode=True),
    "three speeds, the middle one the most frequent": Scatter(_three_speeds, one_mode=False),
    "10 % slow": Scatter(_two_speeds(0.1), one_mode=False),
    "20 % slow": Scatter(_two_speeds(0.2), one_mode=False),
    "40 % slow": Scatter(_two_speeds(0.4), one_mode=False),
    "exponential": Scatter(lambda random, shape: random.exponential(size=shape) - math.log(2), one_mode=False),
    "half slow": Scatter(_two_speeds(0.5), one_mode=False),
}


def misses(scatter: Scatter, looks: Looks, miss: float, runs: int, seed: int = 0) -> Misses:
    """Return how often intervals miss the median 0 of launches that scatter so.

    Args:
        scatter: How.
        looks: All looks that share the promise.
        miss: The share of runs in which any may miss.
        runs: How many.
        seed: Of all chance.
    """
    values = scatter.draw(np.random.default_rng(seed), (runs, looks.last))
    early, anywhere = (np.zeros(runs, np.bool_) for _ in range(2))
    for count, bound in bounds(looks, miss).items():
        ordered = np.sort(values[:, :count], axis=1)
        reach = bound.stretch * (ordered[:, -1] - ordered[:, 0])
        missed = (ordered[:, bound.rank - 1] - reach > 0) | (ordered[:, -bound.rank] + reach < 0)
        anywhere |= missed
        if bound.stretch:
            early |= missed
    return Misses(float(early.mean()), float(anywhere.mean()))


def worst_case(looks: Looks, miss: float) -> Misses:
    """Return the most that any launches can miss, by exact summation.

    Two speeds, equally frequent and each without scatter: wherever all launches have the same speed, their range is a
    point, and no stretching helps. A run then misses at a look where fewer than its rank lie on one side.
    """
    found = bounds(looks, miss)
    early = {count: bound for count, bound in found.items() if bound.stretch}
    return Misses(_union(early, looks), _union(found, looks))


def _union(found: Mapping[int, Bound], looks: Looks) -> float:
    return sum(chance for _, chance in _first_misses(found, looks))


def _first_misses(found: Mapping[int, Bound], looks: Looks) -> Iterator[tuple[int, float]]:
    """Yield each look with the probability that a run misses there for the first time.

    Recomputed from its definition over all sequences of sides, because it is what the shipped sum is compared with.
    """
    alive = np.ones(1)
    for count in range(1, looks.last + 1):
        alive = np.convolve(alive, [0.5, 0.5])
        rank = found[count].rank if count in found else 0
        below = np.arange(count + 1)
        wrong = np.minimum(below, count - below) < rank
        yield count, float(alive[wrong].sum())
        alive[wrong] = 0
