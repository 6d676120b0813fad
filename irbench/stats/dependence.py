"""Launches that are not independent of each other, and cells that get faster or slower within every launch."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise

from irbench.phrases import listing, percent
from irbench.result import Warn
from irbench.stats.compare import launch_ratios
from irbench.stats.figures import launch_levels
from irbench.stats.observed import Observed
from irbench.stats.race import lead_interval
from irbench.stats.scene import Scene

__all__ = ["dependence_warnings", "few_runs_chance", "trend_of_launch"]

_SELDOM = 0.05
_TREND = 0.02
_FEWEST_TRENDS = 4


def dependence_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield warnings about launches that resemble their neighbours, and about trends within launches."""
    yield from _neighbours(scene)
    yield from _trends(scene)


def few_runs_chance(values: Sequence[float]) -> float:
    """Return how likely independent values are to change sides of their median as seldom as these, or more seldom.

    Values equal to the median are left out. With m values on either side the number of orders with r runs is, for even
    r = 2 k, 2 C(m - 1, k - 1)^2 where both sides are equal, and the usual products otherwise; all C(m + n, m) orders
    are equally likely.
    Source: Wald and Wolfowitz, "On a Test Whether Two Samples are from the Same Population", Ann. Math. Statist. 11
    (1940).
    """
    middle = statistics.median(values)
    sides = [one > middle for one in values if one != middle]
    above, below = sum(sides), len(sides) - sum(sides)
    if not above or not below:
        return 1.0
    runs = 1 + sum(one != other for one, other in pairwise(sides))
    return sum(_orders(above, below, count) for count in range(2, runs + 1)) / math.comb(above + below, above)


def trend_of_launch(one: Observed, cell: str) -> float | None:
    """Return the log of how much slower a cell's later half of blocks was than its earlier; ``None`` below four."""
    logs = [value for _, value in sorted(one.log_ns.get(cell, {}).items())]
    half = len(logs) // 2
    return None if half < 2 else statistics.median(logs[-half:]) - statistics.median(logs[:half])


def _orders(above: int, below: int, runs: int) -> int:
    half, odd = divmod(runs, 2)
    if not odd:
        return 2 * math.comb(above - 1, half - 1) * math.comb(below - 1, half - 1)
    one = math.comb(above - 1, half) * math.comb(below - 1, half - 1)
    return one + math.comb(above - 1, half - 1) * math.comb(below - 1, half)


def _neighbours(scene: Scene) -> Iterator[Warn]:
    found = lead_interval(scene.launches, scene.standing, scene.timing)
    if found is None:
        return
    leader = found[0]
    series = {cell: launch_ratios(scene.launches, cell, leader) for cell in scene.standing.compared if cell != leader}
    if not series:
        series = {leader: launch_levels(scene.launches, leader)}
    alike = [cell for cell, values in series.items() if values and few_runs_chance(values) <= _SELDOM / len(series)]
    if alike:
        yield Warn(
            "launches-depend",
            f"Launches of {listing(map(scene.label, alike))} resemble those just before them: something changed slowly"
            " while this was measured. The interval is about that time, and may miss the ratio of another hour.",
            "Repeat the run at another time, and look for what changes: clock speed, temperature, neighbours.",
        )


def _trends(scene: Scene) -> Iterator[Warn]:
    moved: list[str] = []
    for cell in scene.standing.healthy:
        trends = [one for one in (trend_of_launch(launch, cell) for launch in scene.launches) if one is not None]
        one_way = all(one > 0 for one in trends) or all(one < 0 for one in trends)
        middle = statistics.median(trends) if trends else 0.0
        if len(trends) >= _FEWEST_TRENDS and one_way and abs(middle) > _TREND:
            way = "slower" if middle > 0 else "faster"
            moved.append(f"{scene.label(cell)} by {percent(abs(math.expm1(middle)))} {way}")
    if moved:
        yield Warn(
            "not-steady",
            f"Within each launch, later blocks differ from earlier ones: {listing(moved)}.",
            "The figures hold part of a warm-up, or of clocks that change: a longer run would tell another speed.",
        )
