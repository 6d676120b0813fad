"""Launches until it is known on which side of a factor the ratio of two rows lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from irbench.core.record import LaunchRecord
from irbench.spec import Group, Timing
from irbench.stats.compare import launch_ratios
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.intervals import Interval, interval_at, looks_of
from irbench.stats.launch_planning import GUESSED_START_S, expected_seconds
from irbench.stats.observed import observe
from irbench.stats.stopping_rule import Next, Pace, forecast_s

TRIAL = Timing(
    min_launches=2,
    max_launches=8,
    blocks=3,
    max_blocks=4,
    min_blocks=3,
    most_blocks=4,
    warm_up=0.15,
    look_calls=0,
    budget=60.0,
)
"""Short launches of one part of a graph: a look after two of them tells ratios apart that differ by tens of per cent.
What the search ends at is measured again."""
CONFIRMATION = Timing(budget=120.0)
"""Of the whole graph, and of the smallest part: as ``irbench run`` measures."""
_SLOWER_THAN_EXPECTED = 2.0


def interval_seconds() -> float:
    """Return the least time that :data:`CONFIRMATION` takes until the ratio of two rows has an interval."""
    return expected_seconds(2, CONFIRMATION, GUESSED_START_S)


def longest_interval_seconds() -> float:
    """Return how long an interval may take where starts are slow, or other programs run."""
    return _SLOWER_THAN_EXPECTED * interval_seconds()


def for_interval(timing: Timing, budget_s: float) -> Timing:
    """Return a timing whose launches stay short in a small budget, so that there are enough of them for an interval."""
    is_small = timing.min_launches == CONFIRMATION.min_launches and budget_s <= longest_interval_seconds()
    return replace(timing, sized_for=interval_seconds()) if is_small else timing


@dataclass(frozen=True)
class UntilSided:
    """Ends a table of two rows as soon as the interval of their ratio leaves a factor out.

    Attributes:
        slow: Id of the row that is expected to be slower.
        fast: Id of the other one.
        factor: By how many times.
        until_interval_s: What it may take until there are enough launches for an interval, where that is more than the
            budget: without one nothing can be decided.
    """

    slow: str
    fast: str
    factor: float
    until_interval_s: float = 0.0
    measures_all: bool = True

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return both rows, or why there is no further launch."""
        both = (self.slow, self.fast)
        if records and set(both) - set(decide_eligibility(group, records, admission).compared):
            return Next(stopped_by="failures")
        ratios = launch_ratios(observe(group, records, timing), self.slow, self.fast)
        if ratios and self._is_sided(interval_at(ratios, looks_of(timing), timing.confidence)):
            return Next(stopped_by="target")
        if len(records) >= timing.max_launches:
            return Next(stopped_by="launches")
        ended_s = pace.elapsed_s + forecast_s(records, pace.launches_s, both, timing) + pace.closing_s
        has_interval = len(ratios) >= timing.min_launches
        limit_s = timing.budget if has_interval else max(timing.budget, self.until_interval_s)
        return Next(stopped_by="budget") if records and ended_s > limit_s else Next(both)

    def _is_sided(self, interval: Interval) -> bool:
        edge = math.log(self.factor)
        return interval.confidence is not None and not interval.low < edge <= interval.high
