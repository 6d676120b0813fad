"""Detect correlated launches, and cells that get faster or slower within every launch."""

from __future__ import annotations

import bisect
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from irbench.notices import Warn
from irbench.stats.compare import launch_ratios
from irbench.stats.figures import launch_levels
from irbench.stats.observed import Observed
from irbench.stats.race import aim_of
from irbench.stats.scene import Scene

_SELDOM = 0.05
_TREND = 0.02
_FEWEST_TRENDS = 4
_FEWEST_NEIGHBOURS = 6
_ORDERS = 10_000


def dependence_warnings(scene: Scene) -> Iterator[Warn]:
    """Yield warnings about launches that resemble their neighbours, and about trends within launches."""
    yield from _neighbours(scene)
    yield from _trends(scene)


def neighbour_chance(values: Sequence[float]) -> float:
    """Return how likely independent values are to follow each other as closely as these do, or more closely.

    By the rank version of von Neumann's ratio: the sum of squared differences between the ranks of neighbours, which is
    small where a value resembles the one before it. Its distribution over all orders, which are equally likely for
    independent values, is taken from random ones, always the same.
    Source: Bartels, "The Rank Version of von Neumann's Ratio Test for Randomness", JASA 77 (1982). At these numbers it
    finds a correlation of neighbours several times as often as a runs test does.
    """
    seen = _roughness([sorted(values).index(value) for value in values])
    usual = _usual_roughness(len(values))
    return bisect.bisect_right(usual, seen) / len(usual)


def _roughness(ranks: Sequence[int]) -> int:
    return sum((later - earlier) ** 2 for earlier, later in pairwise(ranks))


@cache
def _usual_roughness(count: int) -> tuple[int, ...]:
    """Return the roughness of many random orders of so many values, smallest first."""
    draw = random.Random(count)  # noqa: S311 - a simulation
    return tuple(sorted(_roughness(draw.sample(range(count), count)) for _ in range(_ORDERS)))


def trend_of_launch(observed: Observed, cell: str) -> float | None:
    """Return the log of how much slower a cell's later half of blocks was than its earlier; ``None`` below four."""
    logs = [value for block, value in sorted(observed.log_ns.get(cell, {}).items()) if block in observed.counted]
    half = len(logs) // 2
    return None if half < 2 else statistics.median(logs[-half:]) - statistics.median(logs[:half])


def resembles_neighbours(values: Sequence[float], seldom: float) -> bool:
    """Whether launches follow each other so closely as independent ones seldom do."""
    return len(values) >= _FEWEST_NEIGHBOURS and len(set(values)) > 2 and neighbour_chance(values) <= seldom


def _neighbours(scene: Scene) -> Iterator[Warn]:
    aim = aim_of(scene.launches, scene.standing, scene.timing)
    if aim is None:
        return
    leader = aim.cell
    series = {cell: launch_ratios(scene.launches, cell, leader) for cell in scene.standing.compared if cell != leader}
    if not series:
        series = {leader: launch_levels(scene.launches, leader)}
    alike = [cell for cell, values in series.items() if resembles_neighbours(values, _SELDOM / len(series))]
    if alike:
        yield Warn("launches-depend", {"cells": alike})


def _trends(scene: Scene) -> Iterator[Warn]:
    rows: list[dict[str, Any]] = []
    for cell in scene.standing.healthy:
        trends = [trend for trend in (trend_of_launch(launch, cell) for launch in scene.launches) if trend is not None]
        one_way = all(trend > 0 for trend in trends) or all(trend < 0 for trend in trends)
        middle = statistics.median(trends) if trends else 0.0
        if len(trends) >= _FEWEST_TRENDS and one_way and abs(middle) > _TREND:
            rows.append({"cell": cell, "slower": math.expm1(middle)})
    if rows:
        yield Warn("not-steady", {"rows": rows})
