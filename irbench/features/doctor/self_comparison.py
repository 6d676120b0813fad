"""Compare a backend with itself, and find the smallest difference that such a run detects."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import Speedup
from irbench.spec import Timing
from irbench.stats.intervals import Looks, interval_at, looks_of
from irbench.stats.stopping_rule import unit_half_width

FOUND = 0.8
"""The share of runs that must find a difference for it to count as one that can be seen."""
_FARTHEST = 16.0
"""Log ratio beyond which nobody asks whether a difference is seen."""
_STEPS = 60
_DRAWS = 4000

Outcome = Literal["passed", "failed", "undecided", "busy", "mismatch", "broken", "interrupted"]
"""Not different passes and different fails; ``busy`` says nothing, because most blocks were disturbed; ``mismatch`` is
a wrong answer, ``broken`` a row without figures."""


@dataclass(frozen=True)
class SelfComparison:
    """What came of measuring a backend twice.

    Attributes:
        run_id: Of the stored run.
        folder: Where it is stored.
        table: Its only table.
        timing: The protocol's numbers, the band that is called the same among them.
    """

    run_id: str
    folder: Path
    table: GroupResult
    timing: Timing

    @property
    def speedup(self) -> Speedup | None:
        """The second against the first; ``None`` where one of them has no valid result."""
        return next((cell.speedup for cell in self.table.cells if cell.speedup is not None), None)

    @property
    def outcome(self) -> Outcome:
        """What that says of the machine."""
        found = self.speedup
        if self.table.stopped_by == "interrupt":
            return "interrupted"
        if found is None:
            return "mismatch" if any(cell.state == "mismatch" for cell in self.table.cells) else "broken"
        if self.table.is_busy and found.verdict != "preview":
            return "busy"
        if found.verdict == "same":
            return "passed"
        return "failed" if found.verdict in ("faster", "slower") else "undecided"

    @property
    def smallest_difference(self) -> float | None:
        """The least true difference that four of five such runs would find, as a fraction.

        ``None`` without an interval, and where the machine told a backend from itself: what it finds means nothing.
        """
        found = self.speedup
        if found is None or found.low is None or self.outcome not in ("passed", "undecided"):
            return None
        return smallest_difference(found, self.table.launches, self.timing)


def judge_self_comparison(document: RunDocument, folder: Path, timing: Timing) -> SelfComparison:
    """Return what a run of one backend named twice says of the machine.

    Args:
        document: The run, with one table.
        folder: Where it is stored.
        timing: The numbers it was measured by.
    """
    (table,) = document.groups
    return SelfComparison(document.run_id, folder, table, timing)


def smallest_difference(self_comparison: Speedup, launches: int, timing: Timing) -> float:
    """Return the least true difference that :data:`FOUND` of all runs of this length call faster, as a fraction.

    The scatter of a launch's log ratio is taken from the half-width of the self_comparison' interval, as
    :func:`irbench.stats.stopping_rule.launches_to_reach` does.

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
