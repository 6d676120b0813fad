"""A seeded noise model of launches, blocks and rounds, and the whole estimator run on it many times.

Times are logarithms of round statistics. What a regime does to them follows what was seen on real machines:
every launch has a speed of its own, some are slow, the machine drifts, jumps and is disturbed in bursts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irbench.spec import Timing
from irbench.stats.intervals import Interval
from irbench.stats.observed import Observed
from irbench.stats.stopping import ratio_width
from irbench.stats.winner import Finding, find_winner

_Array = NDArray[np.float64]
_STUDENT = {6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 11: 2.228, 12: 2.201}
"""97.5 % points of Student's t for the mean of so many values, from the usual table."""
_SLOWER = 0.08


@dataclass(frozen=True)
class Regime:
    """What makes measured times differ from true ones.

    Attributes:
        launch_sd: Of a cell's speed from launch to launch.
        round_sd: Of one round statistic.
        slow_share: How often a launch of a cell is 8 % slower.
        only_one: Whether only the cell under test has slow launches, not the baseline.
        drift: Slowdown of the whole machine from a launch's first round to its last.
        step: Size of the machine's jump at a random moment of half the launches.
        burst_share: How many rounds fall into a disturbance that adds 30 % to two rounds on end.
        degrees: Of freedom of Student-distributed round noise; None for normal.
    """

    launch_sd: float = 0.008
    round_sd: float = 0.01
    slow_share: float = 0.0
    only_one: bool = False
    drift: float = 0.0
    step: float = 0.0
    burst_share: float = 0.0
    degrees: float | None = None


REGIMES = {
    "quiet": Regime(),
    "slow launches 10 %": Regime(slow_share=0.1),
    "slow launches 20 %, one cell": Regime(slow_share=0.2, only_one=True),
    "two modes": Regime(slow_share=0.4, only_one=True),
    "drift": Regime(drift=0.10),
    "bursts": Regime(burst_share=0.1),
    "steps": Regime(step=0.15),
    "heavy tails": Regime(degrees=1.5),
    "noisy launches": Regime(launch_sd=0.02),
}


@dataclass(frozen=True)
class Outcome:
    """What many runs of one regime came to, as fractions of all runs."""

    coverage: float
    excludes_one: float
    coverage_of_early_stops: float
    stopped_early: float
    coverage_of_student: float
    mean_launches: float


def block_ratios(regime: Regime, runs: int, launches: int, blocks: int, effect: float, seed: int) -> _Array:
    """Return ln(cell / baseline) of every block, shape (runs, launches, blocks), under the protocol's block order."""
    random = np.random.default_rng(seed)
    shape = (runs, launches, blocks)
    first = random.random((runs, launches, (blocks + 1) // 2)) < 0.5
    cell_first = np.stack([first, ~first], axis=-1).reshape(runs, launches, -1)[..., :blocks]
    machine = _machine(regime, random, shape)
    cell, baseline = (_own_times(regime, random, shape, slow=slow) for slow in (True, not regime.only_one))
    early, late = machine[..., 0::2], machine[..., 1::2]
    cell += np.where(cell_first, early, late) + effect
    baseline += np.where(cell_first, late, early)
    return cell - baseline


def hodges_lehmann(values: _Array) -> _Array:
    """Return the estimate over the last axis for all others at once; a test holds it against the real one."""
    first, second = np.triu_indices(values.shape[-1])
    return np.median((values[..., first] + values[..., second]) / 2, axis=-1)


def true_ratio(regime: Regime, effect: float, blocks: int = 8, seed: int = 99) -> float:
    """Return the median of the launches' estimates over very many launches: what the interval is about."""
    return float(np.median(hodges_lehmann(block_ratios(regime, 1, 100_000, blocks, effect, seed))))


def launch_until_stopped(ratios: _Array, timing: Timing) -> Interval:
    """Return the interval at which the stopping rule ends a run, given the ratios of its first max_launches."""
    width = None
    for count in range(timing.min_launches, timing.max_launches + 1):
        width = ratio_width("cell", ratios[:count].tolist(), timing)
        if width.excess <= 1:
            break
    assert width is not None
    return width.interval


def simulate(regime: Regime, runs: int, effect: float = 0.05, seed: int = 0, timing: Timing | None = None) -> Outcome:
    """Run the estimator with its stopping rule many times."""
    timing = timing or Timing()
    truth = true_ratio(regime, effect)
    ratios = hodges_lehmann(block_ratios(regime, runs, timing.max_launches, timing.blocks, effect, seed))
    ends = [launch_until_stopped(own, timing) for own in ratios]
    covers = np.array([one.low <= truth <= one.high for one in ends])
    early = np.array([one.count == timing.min_launches for one in ends])
    return Outcome(
        coverage=float(covers.mean()),
        excludes_one=float(np.mean([one.low > 0 or one.high < 0 for one in ends])),
        coverage_of_early_stops=float(covers[early].mean()) if early.any() else float("nan"),
        stopped_early=float(early.mean()),
        coverage_of_student=float(np.mean([_student_covers(own, truth, timing) for own in ratios])),
        mean_launches=float(np.mean([one.count for one in ends])),
    )


def claims(speeds: Sequence[float], launches: int, runs: int, seed: int = 0) -> Iterator[Finding]:
    """Yield what is found of the fastest of cells with these true log times, with no band called the same."""
    random = np.random.default_rng(seed)
    timing = Timing(within=0.0)
    names = [str(number) for number in range(len(speeds))]
    for times in random.normal(speeds, 0.01, (runs, launches, len(speeds))).tolist():
        seen = [_one_block(dict(zip(names, row, strict=True))) for row in times]
        by_ratio = sorted(names, key=lambda cell: np.median([row[int(cell)] - row[0] for row in times]))
        yield find_winner(seen, by_ratio, timing)


def _one_block(log_ns: Mapping[str, float]) -> Observed:
    block = frozenset({0})
    return Observed(block, frozenset(), block, {cell: {0: value} for cell, value in log_ns.items()})


def _student_covers(ratios: _Array, truth: float, timing: Timing) -> bool:
    """Whether Student's interval of the mean holds the truth, under the same stopping rule."""
    middle = half_width = math.nan
    for count in range(timing.min_launches, timing.max_launches + 1):
        middle = float(ratios[:count].mean())
        half_width = _STUDENT[count] * float(ratios[:count].std(ddof=1)) / math.sqrt(count)
        if half_width <= max(timing.target, abs(middle) / 10):
            break
    return abs(middle - truth) <= half_width


def _own_times(regime: Regime, random: np.random.Generator, shape: tuple[int, ...], *, slow: bool) -> _Array:
    launch = random.normal(0, regime.launch_sd, shape[:2])
    if slow:
        launch += _SLOWER * (random.random(shape[:2]) < regime.slow_share)
    normal = regime.degrees is None
    noise = random.normal(0, 1, shape) if normal else random.standard_t(regime.degrees, shape)
    return launch[..., None] + regime.round_sd * noise


def _machine(regime: Regime, random: np.random.Generator, shape: tuple[int, int, int]) -> _Array:
    """Return what the machine adds to each of the 2 x blocks rounds, in order of time."""
    runs, launches, blocks = shape
    rounds = 2 * blocks
    moment = np.arange(rounds)
    added = regime.drift * moment / rounds * np.ones((runs, launches, rounds))
    jump = random.integers(0, 2 * rounds, (runs, launches, 1))
    added += regime.step * (moment >= jump)
    starts = random.random((runs, launches, rounds)) < regime.burst_share / 2
    return added + 0.3 * (starts | np.roll(starts, 1, axis=-1))
