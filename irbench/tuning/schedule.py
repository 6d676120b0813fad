"""The launches of a search: what :class:`irbench.runner.schedule.Schedule` asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irbench.record import LaunchRecord
from irbench.spec import Goal, Group, Timing
from irbench.stats.compare import launch_ratios
from irbench.stats.latency_limit import within_max_latency
from irbench.stats.observed import Observed, log_level, observe
from irbench.stats.standing import Admission, Standing, decide_standing
from irbench.stats.stopping import Next, Pace, forecast_s
from irbench.tuning.search import Known, finalists, propose
from irbench.tuning.space import SearchSpace

__all__ = ["SEARCH", "SearchSchedule"]

SEARCH = Timing(blocks=3, max_blocks=4, min_blocks=3, most_blocks=4)
"""Short launches: they tell settings apart that differ by several per cent; the best are measured again afterwards."""

_CALLS_OF_A_LAUNCH = 25
"""About how often the slowest setting is called in a launch: while it warms up, in its blocks, and in their burn-in."""
_LONGEST_SHARE = 0.1
"""Of the time of a search, what one setting may take at most in a launch."""
_ENOUGH = 0.25
"""A search ends where going on is expected to gain less than this share of what counts as the same."""
_FEWEST_LAUNCHES = 4
_UNABLE = ("mismatch", "failed", "not-applicable")


class SearchSchedule:
    """Launches the settings that are the most promising after each launch, with the baseline, until time is up.

    Args:
        space: What may be chosen.
        seconds: How long the search may take.
        seed: Of its random choices.
    """

    measures_all = False

    def __init__(self, space: SearchSpace, seconds: float, seed: int) -> None:
        self._space = space
        self._seconds = seconds
        self._random = np.random.default_rng(seed)
        self._known = Known({}, {}, space.batches)

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the cells of the next launch, the baseline first, or why there is none."""
        launches = observe(group, records, timing)
        standing = within_max_latency(decide_standing(group, records, admission), group, records, launches)
        baseline = standing.baseline or group.baseline
        by_latency = observe(replace(group, goal=Goal("latency")), records, timing)
        self._known = Known(
            costs=self._costs(launches, standing, baseline),
            latencies=self._latencies(by_latency, standing),
            batches=self._space.batches,
            patience_ms=1e3 * _LONGEST_SHARE * self._seconds / _CALLS_OF_A_LAUNCH,
            max_latency_ms=group.goal.max_latency_ms if group.goal is not None else None,
            excluded=self._excluded(standing),
            first=self._space.smallest,
        )
        proposal = propose(self._space.settings, self._known, timing.most_cells - 1, self._random)
        if not proposal.places:
            return Next(stopped_by="searched" if standing.healthy else "failures")
        if len(records) >= _FEWEST_LAUNCHES and proposal.gain < _ENOUGH * timing.within:
            return Next(stopped_by="searched")
        able = [] if baseline in standing.failures else [baseline]
        cells = tuple(dict.fromkeys((*able, *(self._space.ids[place] for place in proposal.places))))
        ended_s = pace.elapsed_s + forecast_s(records, pace.launches_s, cells, timing) + pace.closing_s
        return Next(stopped_by="budget") if records and ended_s > self._seconds else Next(cells)

    def best(self, count: int) -> tuple[str, ...]:
        """Return the ids of the settings that are expected to be the best, as far as is known, the best first."""
        return tuple(self._space.ids[place] for place in finalists(self._space.settings, self._known, count))

    def _costs(self, launches: Sequence[Observed], standing: Standing, baseline: str) -> dict[int, tuple[float, ...]]:
        places = self._space.places
        found = {cell: launch_ratios(launches, cell, baseline) for cell in standing.compared if cell in places}
        return {places[cell]: values for cell, values in found.items() if values}

    def _latencies(self, launches: Sequence[Observed], standing: Standing) -> dict[int, list[float]]:
        """Return the logarithm of each measured setting's latency of a call, in milliseconds."""
        places = self._space.places
        found: dict[int, list[float]] = {}
        for cell in (cell for cell in standing.healthy if cell in places):
            levels = (log_level(launch, cell) for launch in launches)
            found[places[cell]] = [level - math.log(1e6) for level in levels if level is not None]
        return found

    def _excluded(self, standing: Standing) -> frozenset[int]:
        """Return the settings that cannot be chosen: failed, wrong, too slow, or of another precision."""
        other_precision = set(standing.healthy) - set(standing.compared)
        wrong = {cell for cell, state in standing.states.items() if state in _UNABLE}
        places = self._space.places
        return frozenset(places[cell] for cell in (*wrong, *standing.too_slow, *other_precision) if cell in places)
