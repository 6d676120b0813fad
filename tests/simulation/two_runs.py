"""Two stored runs of the same setting on a machine that drifts in between: how often a comparison raises an alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from irbench.across_runs.changes import FEWEST_RUNS, FigureChange, change_of_values, outcome_of, verdict_of
from irbench.across_runs.measured_cells import FIGURES
from irbench.features.history.change_points import change_points
from irbench.options.conditions import read_condition
from irbench.spec import Timing
from irbench.stats.intervals import interval_at, looks_of

_LAUNCH_SD = 0.008
_TIMING = Timing()
_TIME = FIGURES["time"]
_LIMITS = ("time>2%", "time>5%")
_SEED = 20261122


@dataclass(frozen=True)
class Alarms:
    """Shares of comparisons.

    Attributes:
        called: In which the row is called faster or slower.
        limits: In which it meets each condition.
        repeated: In which it meets the first condition again when the newer side is measured once more.
        paired: In which it meets the first condition again when both sides are measured in one run.
        runwise: In which the row is called faster or slower where each side has several runs.
    """

    called: float
    limits: tuple[float, ...]
    repeated: float
    paired: float
    runwise: float


def alarms(runs: int, launches: int, drift: float, change: float = 0.0) -> Alarms:
    """Return what comparisons come to.

    Args:
        runs: How many are simulated.
        launches: Of each run.
        drift: Standard deviation of a run's level, in logarithms: what the machine changes from one run to another.
        change: How much slower the newer side really is, in logarithms; nothing by default.
    """
    random = np.random.default_rng(_SEED)
    outcomes = np.array([list(_comparison(random, launches, drift, change)) for _ in range(runs)], float)
    called, two, five, repeated, paired, runwise = outcomes.mean(axis=0)
    return Alarms(called, (two, five), repeated, paired, runwise)


def history_alarms(runs: int, length: int, correlation: float) -> float:
    """Return the share of histories without a change in which one is found.

    Args:
        runs: How many are simulated.
        length: How many runs each has.
        correlation: Between the levels of consecutive runs.
    """
    random = np.random.default_rng(_SEED)
    return float(np.mean([bool(change_points(_correlated(random, length, correlation))) for _ in range(runs)]))


def total_alarms(runs: int, length: int, correlation: float) -> float:
    """Return the share of histories without a change whose total change is called a loss, however small.

    Args:
        runs: How many are simulated.
        length: How many runs each has, at least twice ``FEWEST_RUNS``.
        correlation: Between the levels of consecutive runs.
    """
    random, condition = np.random.default_rng(_SEED), read_condition("time>0%")
    alarms_found = 0
    for _ in range(runs):
        values = [math.exp(_LAUNCH_SD * value) for value in _correlated(random, length, correlation)]
        total = change_of_values(_TIME, values[:FEWEST_RUNS], values[-FEWEST_RUNS:], "runs", _TIMING.confidence)
        alarms_found += outcome_of(condition, total) == "met"
    return alarms_found / runs


def as_table(runs: int) -> str:
    """Return all of it as Markdown."""
    heads = ("drift between runs", "launches", "called faster or slower", *_LIMITS, "and again, NEW alone")
    rows = [[*heads, "and again, both in one run", f"{FEWEST_RUNS} runs of each"], ["---", *["---:"] * 7]]
    for drift in (0.0, 0.005, 0.01, 0.02):
        for launches in (4, 6, 12):
            found = alarms(runs, launches, drift)
            shares = (found.called, *found.limits, found.repeated, found.paired, found.runwise)
            rows.append([f"{100 * drift:g} %", str(launches), *(f"{share:.3f}" for share in shares)])
    history = [["runs", "independent", "correlated 0.5", "in total", "in total, correlated 0.5"], ["---:"] * 5]
    for length in (10, 20, 40):
        steps = tuple(history_alarms(max(50, runs // 20), length, correlation) for correlation in (0.0, 0.5))
        shares = (*steps, *(total_alarms(runs, length, correlation) for correlation in (0.0, 0.5)))
        history.append([str(length), *(f"{share:.3f}" for share in shares)])
    return f"{_markdown(rows)}\n\n{_markdown(history)}"


def _comparison(random: np.random.Generator, launches: int, drift: float, change: float) -> Iterator[bool]:
    def run(level: float = 0.0) -> list[float]:
        own = random.normal(0, drift) if drift else 0.0
        return [math.exp(value) for value in level + own + random.normal(0, _LAUNCH_SD, launches)]

    base, new = run(), run(change)
    first = _change(base, new)
    met = [outcome_of(read_condition(limit), first) == "met" for limit in _LIMITS]
    yield verdict_of(first, _TIMING.within) in ("faster", "slower")
    yield from met
    yield met[0] and outcome_of(read_condition(_LIMITS[0]), _change(base, run(change))) == "met"
    yield met[0] and _slower_in_pairs(random.normal(change, math.sqrt(2) * _LAUNCH_SD, launches))
    sides = [[float(np.median(run(level))) for _ in range(FEWEST_RUNS)] for level in (0.0, change)]
    yield verdict_of(_change(*sides), _TIMING.within) in ("faster", "slower")


def _change(base: Sequence[float], new: Sequence[float]) -> FigureChange:
    return change_of_values(_TIME, base, new, "launches", _TIMING.confidence)


def _slower_in_pairs(ratios: Sequence[float]) -> bool:
    interval = interval_at(list(ratios), looks_of(_TIMING), _TIMING.confidence)
    return interval.value > math.log1p(_TIMING.within) and interval.low > 0


def _correlated(random: np.random.Generator, length: int, correlation: float) -> list[float]:
    values = [random.normal()]
    for _ in range(length - 1):
        values.append(correlation * values[-1] + math.sqrt(1 - correlation**2) * random.normal())
    return values


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
