"""Warm-ups whose end is known: how often the rule misses it, and how often it sees one that is not there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from irbench.spec import Timing
from irbench.stats.warm_up import Course, calls_of_later_launches, course_of
from simulation.markdown import markdown_table

Times = NDArray[np.float64]
Rule = Callable[[Times], Course | None]

_LOOK = Timing.look_calls
_LONGEST = 4 * _LOOK
"""Calls for which a simulated look has time."""
_TOLERATED = 0.08
"""Calls that are slower by less count as warm: the rule's 5 %, and what noise adds to it."""


@dataclass(frozen=True)
class _Regime:
    """What disturbs calls, and how slow the first ones are.

    Attributes:
        noise: Returns factors of so many calls' times.
        cold: Returns by what factor each call is slower because the process is not warm.
    """

    noise: Callable[[Generator, int], Times]
    cold: Callable[[int], Times] = np.ones


def _quiet(draw: Generator, calls: int) -> Times:
    return np.exp(draw.normal(0, 0.01, calls))


def _noisy(draw: Generator, calls: int) -> Times:
    return np.exp(draw.normal(0, 0.05, calls))


def _drift(draw: Generator, calls: int) -> Times:
    return _quiet(draw, calls) * np.linspace(1, draw.choice([0.97, 1.03]), calls)


def _bursts(draw: Generator, calls: int) -> Times:
    """Return calls of which about one in eight takes half as long again, in bursts of 15."""
    times, at = _quiet(draw, calls), 0
    while at < calls:
        begun = at + int(draw.exponential(100))
        at = begun + 1 + int(draw.exponential(15))
        times[begun:at] *= 1.5
    return times


def _slower_later(draw: Generator, calls: int) -> Times:
    times = _quiet(draw, calls)
    times[draw.integers(calls) :] *= 1.2
    return times


def _heavy_tails(draw: Generator, calls: int) -> Times:
    return _quiet(draw, calls) * (1 + 0.02 * draw.pareto(1.5, calls))


def _step(calls_cold: int, factor: float) -> Callable[[int], Times]:
    return lambda calls: np.where(np.arange(calls) < calls_cold, factor, 1.0)


def _exponential(scale: float, factor: float) -> Callable[[int], Times]:
    return lambda calls: 1 + (factor - 1) * np.exp(-np.arange(calls) / scale)


def _line(calls_cold: int, factor: float) -> Callable[[int], Times]:
    return lambda calls: np.maximum(1, factor - (factor - 1) * np.arange(calls) / calls_cold)


WARM: Mapping[str, _Regime] = {
    "quiet": _Regime(_quiet),
    "scatters by 5 %": _Regime(_noisy),
    "drift of 3 %": _Regime(_drift),
    "heavy tails": _Regime(_heavy_tails),
    "slower later": _Regime(_slower_later),
    "slow first call": _Regime(_quiet, _step(1, 20.0)),
    "bursts": _Regime(_bursts),
}
"""Processes that are warm from the first or second call on."""
COLD: Mapping[str, _Regime] = {
    "step after 50 calls, 1.25x": _Regime(_quiet, _step(50, 1.25)),
    "step after 200 calls, 1.25x": _Regime(_quiet, _step(200, 1.25)),
    "step after 200 calls, 3.75x": _Regime(_quiet, _step(200, 3.75)),
    "step after 280 calls, 1.25x": _Regime(_quiet, _step(280, 1.25)),
    "the same, scatters by 5 %": _Regime(_noisy, _step(280, 1.25)),
    "step after 200 calls, 3.75x, bursts": _Regime(_bursts, _step(200, 3.75)),
    "step after 200 calls, heavy tails": _Regime(_heavy_tails, _step(200, 1.25)),
    **{
        f"exponential of {scale:,} calls, 2x": _Regime(_quiet, _exponential(scale, 2.0))
        for scale in (20, 60, 100, 200, 400, 2000)
    },
    "exponential of 200 calls, 1.3x": _Regime(_quiet, _exponential(200, 1.3)),
    "straight line over 500 calls, 2x": _Regime(_quiet, _line(500, 2.0)),
    "straight line over 1,000 calls, 2x": _Regime(_quiet, _line(1000, 2.0)),
    "the same over 500 calls, scatters by 5 %": _Regime(_noisy, _line(500, 2.0)),
}
"""Processes that are not."""
DISTURBED: Mapping[str, _Regime] = {
    f"exponential of {scale} calls, 2x, {name}": _Regime(noise, _exponential(scale, 2.0))
    for scale in (100, 400)
    for name, noise in (("scatters by 5 %", _noisy), ("bursts", _bursts))
}
"""Processes that are not either, and whose slow end drowns in what disturbs them: nothing is promised of these."""


@dataclass(frozen=True)
class Looked:
    """What the rule made of many processes of one regime.

    Attributes:
        early: The share of which later launches would begin their blocks before they are warm.
        late: The share that was said to be cold for half as many calls again as it was, and 24 more at least.
        unsteady: The share that was not steady when the look had to end.
        calls: The median of calls for which later launches warm up, of the others; not a number where there are none.
    """

    early: float
    late: float
    unsteady: float
    calls: float


def looks(regime: _Regime, runs: int, rule: Rule = course_of) -> Looked:
    """Return what a rule makes of so many processes."""
    draw = np.random.default_rng(0)
    cold = regime.cold(_LONGEST)
    truth = int(np.flatnonzero(cold > 1 + _TOLERATED).max(initial=-1)) + 1
    found = [_look(regime.noise(draw, _LONGEST) * cold, rule) for _ in range(runs)]
    known = [after for after in found if after is not None]
    early = sum(truth > 1 and calls_of_later_launches(after) < truth for after in known) / runs
    late = sum(after > 1.5 * truth + 24 for after in known) / runs
    calls = float(np.median([calls_of_later_launches(after) for after in known])) if known else float("nan")
    return Looked(early, late, 1 - len(known) / runs, calls)


def kept(rule: Rule, runs: int) -> list[str]:
    """Return the regimes in which a rule does not keep its promise."""
    broken = [name for name, regime in COLD.items() if looks(regime, runs, rule).early > 0.05]
    for name, regime in WARM.items():
        found = looks(regime, runs, rule)
        if found.late > (0.25 if name == "bursts" else 0.02) or found.unsteady > 0.02:
            broken.append(name)
    return broken


def _look(times: Times, rule: Rule) -> int | None:
    """Return after how many calls a look says that they got no faster; it goes on until they do."""
    calls = _LOOK
    while calls <= _LONGEST:
        course = rule(times[:calls])
        if course is not None and course.after is not None:
            return course.after
        calls *= 2
    return None


def as_table(runs: int) -> str:
    """Return the table of all regimes in Markdown."""
    rows = list[list[str]]()
    for name, regime in {**WARM, **COLD, **DISTURBED}.items():
        found = looks(regime, runs)
        calls = "" if math.isnan(found.calls) else f"{found.calls:.0f}"
        rows.append([name, f"{found.early:.3f}", f"{found.late:.3f}", f"{found.unsteady:.3f}", calls])
    return markdown_table(["process", "too early", "too late", "not steady", "calls"], rows)
