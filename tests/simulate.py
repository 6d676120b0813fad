"""A seeded noise model of launches, blocks and rounds, and the whole estimator run on it many times.

Times are logarithms of round statistics. What a regime does to them follows what was seen on real machines:
every launch has a speed of its own, some are slow, the machine drifts, jumps and is disturbed in bursts.

    python tests/simulate.py --runs 4000

prints how the shipped estimator and two usual ones keep the promise of their intervals in each regime, as Markdown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import click
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
_PROMISES = ("coverage", "A/A")


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
    "slow launches 10 %, one cell": Regime(slow_share=0.1, only_one=True),
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
    """What many runs of one regime came to, as fractions of all runs.

    Attributes:
        coverage: How many intervals hold the truth.
        excludes_one: How many leave no difference out, which is wrong where there is none.
        coverage_of_early_stops: Of the runs that ended at the first chance.
        stopped_early: How many did.
        mean_launches: At which they ended.
    """

    coverage: float
    excludes_one: float
    coverage_of_early_stops: float = math.nan
    stopped_early: float = math.nan
    mean_launches: float = math.nan


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


@cache
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
    ends = [launch_until_stopped(own, timing) for own in _launches(regime, runs, effect, seed, timing)]
    counts = np.array([one.count for one in ends])
    early = counts == timing.min_launches
    covers = _covers(ends, true_ratio(regime, effect))
    return Outcome(
        coverage=float(covers.mean()),
        excludes_one=1 - float(_covers(ends, 0.0).mean()),
        coverage_of_early_stops=float(covers[early].mean()) if early.any() else math.nan,
        stopped_early=float(early.mean()),
        mean_launches=float(counts.mean()),
    )


def simulate_student(regime: Regime, runs: int, effect: float = 0.05, seed: int = 0) -> Outcome:
    """Run Student's interval of the mean over the same launches, with the same stopping rule."""
    timing = Timing()
    ends = [_student_until_stopped(own, timing) for own in _launches(regime, runs, effect, seed, timing)]
    covers = _covers(ends, true_ratio(regime, effect))
    return Outcome(float(covers.mean()), 1 - float(_covers(ends, 0.0).mean()))


def simulate_sequential(regime: Regime, runs: int, effect: float = 0.05, seed: int = 0) -> Outcome:
    """Measure as ordinary tools do: one process each, all rounds of the baseline, then all of the cell.

    Either takes as many rounds as in the six launches of the protocol, and the machine drifts no more in all of them
    than otherwise in one launch. The interval is that of the difference of two means, 1.96 standard errors wide.
    """
    random = np.random.default_rng(seed)
    timing = Timing()
    rounds = timing.min_launches * timing.blocks
    shape = (runs, 1, rounds)
    machine = _machine(regime, random, shape)
    baseline = _own_times(regime, random, shape, slow=not regime.only_one) + machine[..., :rounds]
    cell = _own_times(regime, random, shape, slow=True) + machine[..., rounds:] + effect
    middles = (cell.mean(axis=-1) - baseline.mean(axis=-1))[:, 0]
    errors = np.sqrt((cell.var(axis=-1, ddof=1) + baseline.var(axis=-1, ddof=1)) / rounds)[:, 0]
    ends = [Interval(one, one - wide, one + wide, 1, rounds) for one, wide in zip(middles, 1.96 * errors, strict=True)]
    covers = _covers(ends, true_ratio(regime, effect))
    return Outcome(float(covers.mean()), 1 - float(_covers(ends, 0.0).mean()))


def table(runs: int) -> str:
    """Return each regime's coverage at 5 % difference and false positives at none, as Markdown."""
    ways = (simulate, simulate_student, simulate_sequential)
    headings = ("regime", *(f"{name} {what}" for name in ("irbench", "Student", "sequential") for what in _PROMISES))
    rows = [headings, ("---", *["---:"] * (len(headings) - 1))]
    for name, regime in REGIMES.items():
        alike = replace(regime, only_one=False)
        found = [(way(regime, runs).coverage, way(alike, runs, 0.0, seed=1).excludes_one) for way in ways]
        rows.append((name, *(f"{share:.3f}" for pair in found for share in pair)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


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


def _launches(regime: Regime, runs: int, effect: float, seed: int, timing: Timing) -> _Array:
    """Return the ratio of each launch, shape (runs, max_launches)."""
    return hodges_lehmann(block_ratios(regime, runs, timing.max_launches, timing.blocks, effect, seed))


def _covers(ends: Sequence[Interval], truth: float) -> NDArray[np.bool_]:
    return np.array([one.low <= truth <= one.high for one in ends])


def _student_until_stopped(ratios: _Array, timing: Timing) -> Interval:
    middle = half_width = math.nan
    count = 0
    for count in range(timing.min_launches, timing.max_launches + 1):
        middle = float(ratios[:count].mean())
        half_width = _STUDENT[count] * float(ratios[:count].std(ddof=1)) / math.sqrt(count)
        if half_width <= max(timing.target, abs(middle) / 10):
            break
    return Interval(middle, middle - half_width, middle + half_width, 1, count)


def _own_times(regime: Regime, random: np.random.Generator, shape: tuple[int, ...], *, slow: bool) -> _Array:
    launch = random.normal(0, regime.launch_sd, shape[:2])
    if slow:
        launch += _SLOWER * (random.random(shape[:2]) < regime.slow_share)
    degrees = regime.degrees
    noise = random.normal(0, 1, shape) if degrees is None else random.standard_t(degrees, shape)
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


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=4000, show_default=True, help="Of each regime.")
def main(runs: int) -> None:
    """Print how three estimators keep the promise of their intervals in each regime."""
    click.echo(table(runs))


if __name__ == "__main__":
    main()
