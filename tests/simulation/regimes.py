"""Noise models of launches, blocks and rounds, and the truth that follows from their constants alone.

Times are logarithms of round statistics. What a regime does to them follows what was seen on real machines: every
launch has a speed of its own, some are slow, the machine drifts, jumps and is disturbed in bursts.

The truth is computed from the constants of a regime, never with an estimator: two cells differ by the effect, and by
the median (or the mean, for methods that estimate it) of the distribution of the difference of two launches' speeds.
Everything within a launch is symmetric between the cells, because their order within blocks is random, and adds 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Order = str
"""Of the two cells in a block: ``drawn`` and reversed in the block after, as irbench does it; ``fixed``; ``halves``:
all rounds of the baseline first; or ``together``: both at once, so that the machine adds the same to both."""

SLOWER = 0.08
"""How much a slow launch is, as a difference of log times."""
_BURST = 0.3


@dataclass(frozen=True)
class Regime:
    """What makes measured times differ from true ones. Sizes are differences of log times.

    Attributes:
        launch_sd: Of a cell's speed from launch to launch.
        round_sd: Of one round statistic.
        slow_share: How often a launch of a cell is 8 % slower.
        only_one: Whether slow launches, slow first blocks and the far state slow only the cell under test.
        drift: Slowdown of the whole machine from a launch's first round to its last.
        step: Size of the machine's jump at a random moment of half the launches.
        burst_share: How many rounds fall into a disturbance that adds 30 % to two rounds on end.
        degrees: Of freedom of Student-distributed round noise; None for normal.
        wander: Of the machine's speed from block to block; the rounds of a block share it.
        burn_in: How much slower the first block of a launch is.
        correlation: Of a cell's speed in a launch with that in the launch before.
        far: How much slower launches are in the machine's far state.
        far_share: Share of launches in the far state in the long run.
        stay: Launches that a stay in the far state lasts on average.
    """

    launch_sd: float = 0.008
    round_sd: float = 0.01
    slow_share: float = 0.0
    only_one: bool = False
    drift: float = 0.0
    step: float = 0.0
    burst_share: float = 0.0
    degrees: float | None = None
    wander: float = 0.0
    burn_in: float = 0.0
    correlation: float = 0.0
    far: float = 0.0
    far_share: float = 0.0
    stay: float = 1.0

    @property
    def alike(self) -> Regime:
        """The same with both cells treated alike: a backend against itself."""
        return replace(self, only_one=False)


REGIMES = {
    "quiet": Regime(),
    "quiet launches": Regime(launch_sd=0.003),
    "slow launches 10 %": Regime(slow_share=0.1),
    "slow launches 10 %, one cell": Regime(slow_share=0.1, only_one=True),
    "slow launches 20 %, one cell": Regime(slow_share=0.2, only_one=True),
    "two modes": Regime(slow_share=0.4, only_one=True),
    "drift": Regime(drift=0.10),
    "bursts": Regime(burst_share=0.1),
    "steps": Regime(step=0.15),
    "heavy tails": Regime(degrees=1.5),
    "noisy launches": Regime(launch_sd=0.02),
    "changing clock": Regime(launch_sd=0.003, wander=0.05),
    "slow first block, one cell": Regime(burn_in=0.06, only_one=True),
}
DEPENDENT = {
    "launches correlated 0.3": Regime(correlation=0.3),
    "launches correlated 0.5": Regime(correlation=0.5),
    "launches correlated 0.7": Regime(correlation=0.7),
    "near and far, stays of 3 launches": Regime(far=0.1, far_share=1 / 3, stay=3, only_one=True),
    "near and far, stays of 6 launches": Regime(far=0.1, far_share=1 / 3, stay=6, only_one=True),
}
"""Launches that are not independent: no interval over launches of one hour keeps its promise about the long run."""


@dataclass(frozen=True)
class Truth:
    """The distribution of the difference of two launches' log times, without noise within launches.

    Attributes:
        median: What half of the launches exceed.
        mean: On average.
        sd: Its standard deviation.
    """

    median: float
    mean: float
    sd: float


def truth_of(regime: Regime, effect: float) -> Truth:
    """Return where the difference of two launches' log times lies, from the regime's constants alone.

    The difference is normal around one of a few centres. Its distribution function is the weighted sum of normal ones,
    whose middle is found by bisection.
    """
    centres = _centres(regime)
    noise = NormalDist(0, math.sqrt(2) * regime.launch_sd)
    mean = sum(weight * at for at, weight in centres)
    variance = sum(weight * (at - mean) ** 2 for at, weight in centres) + noise.variance
    low, high = -1.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        below = sum(weight * noise.cdf(middle - at) for at, weight in centres)
        low, high = (middle, high) if below < 0.5 else (low, middle)
    return Truth(effect + (low + high) / 2, effect + mean, math.sqrt(variance))


def launches_of(
    regime: Regime, shape: tuple[int, int, int], effect: float, seed: int, order: Order = "drawn"
) -> tuple[Array, Array]:
    """Return the log times of the cell and of the baseline in every block.

    Args:
        regime: What disturbs them.
        shape: Runs, launches, blocks.
        effect: By how much the cell truly is slower.
        seed: Of all chance.
        order: Of the two cells in a block.
    """
    random = np.random.default_rng(seed)
    machine = _machine(regime, random, shape)
    far = regime.far * _far_launches(regime, random, shape[:2])
    cell = _own_times(regime, random, shape, disturbed=True) + far[..., None] + effect
    baseline = _own_times(regime, random, shape, disturbed=not regime.only_one)
    if not regime.only_one:
        baseline += far[..., None]
    first, second = _places(random, shape, order)
    return cell + np.take_along_axis(machine, first, -1), baseline + np.take_along_axis(machine, second, -1)


def one_after_the_other(regime: Regime, runs: int, rounds: int, effect: float, seed: int) -> tuple[Array, Array]:
    """Return log times measured as ordinary tools do it, shape (runs, rounds): a process each, one after the other.

    The machine drifts no more in all of it than otherwise in one launch.
    """
    cell, baseline = launches_of(regime, (runs, 1, rounds), effect, seed, "halves")
    return cell[:, 0], baseline[:, 0]


def _centres(regime: Regime) -> Sequence[tuple[float, float]]:
    """Return around which values launches differ, each with its weight."""
    slow = ((0.0, 1 - regime.slow_share), (SLOWER, regime.slow_share))
    far = ((0.0, 1 - regime.far_share), (regime.far, regime.far_share))
    if regime.only_one:
        return [(item + other, own * others) for item, own in slow for other, others in far]
    return [(item - other, own * others) for item, own in slow for other, others in slow]


def _own_times(regime: Regime, random: np.random.Generator, shape: tuple[int, int, int], *, disturbed: bool) -> Array:
    launch = _correlated(random.normal(0, regime.launch_sd, shape[:2]), regime.correlation)
    slow = SLOWER * (random.random(shape[:2]) < regime.slow_share)
    degrees = regime.degrees
    noise = random.normal(0, 1, shape) if degrees is None else random.standard_t(degrees, shape)
    times = launch[..., None] + regime.round_sd * noise
    if disturbed:
        times += slow[..., None]
        times[..., 0] += regime.burn_in
    return times


def _correlated(fresh: Array, correlation: float) -> Array:
    """Return a stationary first-order autoregression with the variance of these values."""
    if not correlation:
        return fresh
    found = fresh.copy()
    for number in range(1, fresh.shape[1]):
        found[:, number] = correlation * found[:, number - 1] + math.sqrt(1 - correlation**2) * fresh[:, number]
    return found


def _far_launches(regime: Regime, random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which launches find the machine in its far state: a Markov chain with two states, started anywhere."""
    draws = random.random(shape)
    states = np.zeros(shape, np.bool_)
    if not regime.far_share:
        return states
    leave = 1 / regime.stay
    enter = leave * regime.far_share / (1 - regime.far_share)
    states[:, 0] = draws[:, 0] < regime.far_share
    for number in range(1, shape[1]):
        states[:, number] = draws[:, number] < np.where(states[:, number - 1], 1 - leave, enter)
    return states


def _machine(regime: Regime, random: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Return what the machine adds to each of the 2 x blocks rounds of a launch, in order of time."""
    runs, launches, blocks = shape
    rounds = 2 * blocks
    moment = np.arange(rounds)
    added = regime.drift * moment / rounds * np.ones((runs, launches, rounds))
    jump = random.integers(0, 2 * rounds, (runs, launches, 1))
    added += regime.step * (moment >= jump)
    starts = random.random((runs, launches, rounds)) < regime.burst_share / 2
    added += _BURST * (starts | np.roll(starts, 1, axis=-1))
    return added + np.repeat(random.normal(0, regime.wander, shape), 2, axis=-1)


def _places(random: np.random.Generator, shape: tuple[int, int, int], order: Order) -> tuple[NDArray, NDArray]:
    """Return which of a launch's rounds are the cell's and which the baseline's, one of each for every block."""
    runs, launches, blocks = shape
    block = np.broadcast_to(np.arange(blocks), shape)
    if order == "halves":
        return block + blocks, block
    if order == "fixed":
        return 2 * block + 1, 2 * block
    if order == "together":
        return 2 * block, 2 * block
    drawn = random.random((runs, launches, (blocks + 1) // 2)) < 0.5
    late = np.stack([drawn, ~drawn], axis=-1).reshape(runs, launches, -1)[..., :blocks]
    return 2 * block + late, 2 * block + ~late
