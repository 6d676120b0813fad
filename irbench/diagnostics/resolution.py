"""The smallest true difference that a comparison of a given length detects, given the scatter of its launches."""

from __future__ import annotations

import math
import random
from functools import cache

from irbench.row_figures import Speedup
from irbench.spec import Timing
from irbench.stats.intervals import Looks, interval_at, looks_of
from irbench.stats.stopping import unit_half_width

FOUND = 0.8
"""The share of runs that must find a difference for it to count as one that can be seen."""
_FARTHEST = 16.0
"""Log ratio beyond which nobody asks whether a difference is seen."""
_STEPS = 60
_DRAWS = 4000


def smallest_difference(self_comparison: Speedup, launches: int, timing: Timing) -> float:
    """Return the least true difference that :data:`FOUND` of all runs of this length call faster, as a fraction.

    The scatter of a launch's log ratio is taken from the half-width of the self_comparison' interval, as
    :func:`irbench.stats.stopping.launches_to_reach` does.

    Args:
        self_comparison: One backend against itself.
        launches: How many its interval was made from; at least ``timing.min_launches``.
        timing: Confidence of the interval, and the band that is called the same.

    Raises:
        ValueError: The comparison has no interval.
    """
    if self_comparison.low is None or self_comparison.high is None:
        raise ValueError("nothing is known without an interval")
    half_width = (math.log(self_comparison.high) - math.log(self_comparison.low)) / 2
    scatter = half_width / (unit_half_width(launches, timing, timing.confidence) or math.inf)
    seldom, often = 0.0, _FARTHEST
    for _ in range(_STEPS):
        middle = (seldom + often) / 2
        if chance_of_faster(middle, scatter, launches, timing) < FOUND:
            seldom = middle
        else:
            often = middle
    return math.expm1(often)


def chance_of_faster(difference: float, scatter: float, launches: int, timing: Timing) -> float:
    """Return how likely a true difference is to be called ``faster``.

    That verdict (:func:`irbench.stats.compare.verdict`) wants the interval to lie above 0 and not wholly inside the
    band. An interval moves and stretches with its values, so those of standard normal launches serve for all.

    Args:
        difference: The true log ratio; positive.
        scatter: Standard deviation of a launch's log ratio, taken to be normal; 0 for none.
        launches: How many launches the interval is made from.
        timing: Confidence of the interval, and the band that is called the same.
    """
    edge = math.log1p(timing.within)
    ends = _standard_ends(launches, looks_of(timing), timing.confidence)
    seen = sum(difference + scatter * low > 0 and difference + scatter * high > edge for low, high in ends)
    return seen / len(ends)


@cache
def _standard_ends(launches: int, looks: Looks, confidence: float) -> tuple[tuple[float, float], ...]:
    """Return the interval's ends in many runs whose launches are standard normal, always the same ones."""
    draw = random.Random(launches)  # noqa: S311 - a simulation
    runs = ([draw.gauss(0, 1) for _ in range(launches)] for _ in range(_DRAWS))
    found = (interval_at(values, looks, confidence) for values in runs)
    return tuple((interval.low, interval.high) for interval in found)
