"""The launches of a search: which settings the next one has, and when it is time to confirm the best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import LaunchRecord
from irbench.features.tune.confirmation_plan import ConfirmationPlan
from irbench.features.tune.gaussian_process import Belief, Settings, fit
from irbench.features.tune.launch_costs import GUESSED, LaunchCosts, launch_s
from irbench.features.tune.search_space import SearchSpace
from irbench.runner.launch_schedule import UnforeseenEnd
from irbench.spec import Goal, Group, Timing
from irbench.stats.eligibility import Admission, Eligibility, decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.observed import Observed, log_level, observe
from irbench.stats.speedups import launch_ratios
from irbench.stats.stopping_rule import Next, Pace

_DRAWS = 64
_POOL = 256
"""Settings that values are drawn for; those with the best chances where there are more."""
_ENOUGH_LAUNCHES = 2
"""A search has nothing left to find where every setting was launched so often: the best are confirmed anyway."""
_DOUBT = 1.0
"""A setting is left out where it misses a limit even if it is so many standard deviations better than expected."""
SEARCH = Timing(
    blocks=2, max_blocks=2, min_blocks=2, most_blocks=2, burn_in_blocks=0,
    warm_up=0.1, look_calls=0, min_calls=1, calls_per_stream=1, behind=1.1,
)  # fmt: skip
"""Short launches, with as few calls as there can be: batches that are large are not called as often as small ones. They
tell settings apart that differ by several per cent; the best are measured again afterwards."""
_CALLS_OF_A_SETTING = 250
"""Settings are tried of which so many calls fit into the budget: about 4 times those of its probe and confirmation."""
_LEAST_SEARCH = 0.4
"""Of the budget, what a search may take however long the confirmation is expected to last."""
_PLANNED = 2
"""For how many of the best settings a search leaves the time to confirm them."""
_ENOUGH = 0.25
"""A search ends where going on is expected to gain less than this share of what counts as the same."""
ENOUGH_TRIED = 40
"""So many settings are tried where there is time: what going on may gain is not known before."""
_UNABLE = ("mismatch", "failed", "not-applicable")


@dataclass(frozen=True)
class Known:
    """What was measured of the settings of a search, each by its place.

    Attributes:
        costs: Natural logarithm of the compared quantity relative to the baseline of the same launch, for each launch.
        latencies: Natural logarithm of the latency of a call, in milliseconds, for each launch.
        batches: Samples per call of every setting.
        patience_ms: Settings whose calls are expected to take longer have no time in a launch.
        excluded: Settings that failed, gave wrong outputs, or missed a limit when they were measured.
        first: Settings that may be tried before anything was measured.
    """

    costs: Mapping[int, Sequence[float]]
    latencies: Mapping[int, Sequence[float]]
    batches: Sequence[int]
    patience_ms: float = math.inf
    max_latency_ms: float | None = None
    excluded: Collection[int] = ()
    first: Collection[int] = ()


@dataclass(frozen=True)
class Proposal:
    """What a search does next.

    Attributes:
        places: Settings to launch, the most promising first; empty where nothing is left to find.
        gain: How much lower than the best measured cost the lowest of all is expected to be, as a natural logarithm.
            ``inf`` before anything was measured.
    """

    places: tuple[int, ...]
    gain: float


def propose(settings: Settings, known: Known, count: int, generator: np.random.Generator) -> Proposal:
    """Return the settings of the next launch.

    Before anything was measured, settings far apart from each other. Afterwards those that are the best in values drawn
    from the fitted distribution (Thompson sampling): what looks good is measured again, and what is little known is
    tried.
    """
    if not known.costs:
        able = [place for place in known.first if place not in known.excluded]
        return Proposal(_far_apart(settings, able, count, generator), math.inf)
    able = _able(settings, known)
    if all(len(known.costs.get(place, ())) >= _ENOUGH_LAUNCHES for place in able):
        return Proposal((), 0.0)
    belief = fit(settings, known.costs)
    by_chance = sorted(able, key=lambda place: belief.mean[place] - belief.deviation[place])[:_POOL]
    drawn = belief.draws(max(_DRAWS, 8 * count), by_chance, generator)
    best = min((float(belief.mean[place]) for place in known.costs if place in able), default=math.inf)
    gain = float(np.maximum(0.0, best - drawn.min(axis=1)).mean())
    chosen = (by_chance[place] for place in drawn.argmin(axis=1))
    little_known = (place for place in by_chance if len(known.costs.get(place, ())) < _ENOUGH_LAUNCHES)
    return Proposal(tuple(dict.fromkeys((*chosen, *little_known)))[:count], gain)


def finalists(settings: Settings, known: Known, count: int) -> tuple[int, ...]:
    """Return the measured settings that are expected to be the best, the best first; fewer where fewer are able."""
    if not known.costs:
        return ()
    belief: Belief = fit(settings, known.costs)
    able = [place for place in known.costs if place not in known.excluded]
    return tuple(sorted(able, key=lambda place: belief.mean[place])[:count])


def _able(settings: Settings, known: Known) -> list[int]:
    """Return the settings that may be launched: measured ones that are not excluded, others that may be quick enough.

    What a launch has no time for must not be tried: until larger batches were measured, their calls are taken to last
    as long per sample. What answers later than was asked for may be tried: until then, to last as long as any other.
    """
    batches = np.log(known.batches)
    per_sample = {place: [value - batches[place] for value in values] for place, values in known.latencies.items()}
    log_patience = math.log(known.patience_ms) if known.patience_ms > 0 else -math.inf  # preparation took all time
    may_run = _hoped_for(settings, per_sample) + batches <= log_patience
    if known.max_latency_ms is not None:
        may_run &= _hoped_for(settings, known.latencies) <= math.log(known.max_latency_ms)
    places = range(len(settings.points))
    return [place for place in places if place not in known.excluded and (place in known.costs or may_run[place])]


def _hoped_for(settings: Settings, values: Mapping[int, Sequence[float]]) -> NDArray[np.float64]:
    """Return the lowest value that each setting may reasonably have."""
    belief = fit(settings, values)
    return belief.mean - _DOUBT * belief.deviation


def _far_apart(
    settings: Settings, places: Sequence[int], count: int, generator: np.random.Generator
) -> tuple[int, ...]:
    """Return settings of which each is as far from those before it as possible."""
    if not places:
        return ()
    chosen = [int(generator.integers(len(places)))]
    apart = settings.distances(places, places).sum(axis=0) + 1e-6 * generator.random((len(places), len(places)))
    while len(chosen) < min(count, len(places)):
        nearest = apart[:, chosen].min(axis=1)
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return tuple(places[place] for place in chosen)


def with_requested(timing: Timing, requested: Timing) -> Timing:
    """Return a protocol with the deadline, the warm-up and the band of the user's request."""
    timing = replace(timing, within=requested.within, deadline=requested.deadline, deadline_by=requested.deadline_by)
    if requested.look_calls:
        return timing
    return replace(timing, warm_up=requested.warm_up, warm_up_calls=requested.warm_up_calls, look_calls=0)


class SearchSchedule(UnforeseenEnd):
    """Launches the settings that are the most promising after each launch, with the baseline, until time is up.

    Time is up when no launch fits any more before the confirmation, which is planned from what launches took. The
    first launch has the default of every backend, too, so that it is known what these take.

    Args:
        space: What may be chosen.
        confirmation: What must still fit.
        seconds: How long the search and the confirmation may take together.
        seed: Of its random choices.
        defaults: Ids of the rows that the first launch also has.
    """

    measures_all = False

    def __init__(
        self,
        space: SearchSpace,
        confirmation: ConfirmationPlan,
        seconds: float,
        seed: int,
        defaults: Sequence[str] = (),
    ) -> None:
        self._space = space
        self._confirmation = confirmation
        self._seconds = seconds
        self._random = np.random.default_rng(seed)
        self._defaults = defaults
        self._known = Known({}, {}, space.batches)
        self._taken = LaunchCosts(confirmation.cells, ())

    def following(
        self, group: Group, records: Sequence[LaunchRecord], timing: Timing, admission: Admission, pace: Pace, /
    ) -> Next:
        """Return the cells of the next launch, the baseline first, or why there is none."""
        launches = observe(group, records, timing)
        eligibility = within_max_latency(decide_eligibility(group, records, admission), group, records, launches)
        baseline = eligibility.baseline or group.baseline
        self._learn(group, records, timing, launches, eligibility)
        able = [] if baseline in eligibility.failures else [baseline]
        beside = able if records else list(dict.fromkeys((*able, *self._defaults)))[: timing.most_cells - 1]
        proposal = propose(self._space.settings, self._known, timing.most_cells - len(beside), self._random)
        if not proposal.places:
            return Next(stopped_by="searched" if eligibility.healthy else "failures")
        tried = len({*self._known.costs, *self._known.excluded})
        if tried >= min(ENOUGH_TRIED, len(self._space.cells)) and proposal.gain < _ENOUGH * timing.within:
            return Next(stopped_by="searched")
        if not records:
            first = [self._space.ids[place] for place in proposal.places]
            return Next((*beside, *first[: self._affordable_at_first(len(beside), len(first), timing)]))
        cells = self._fitting(beside, [self._space.ids[place] for place in proposal.places], timing, pace)
        return Next(cells) if cells else Next(stopped_by="budget")

    def best(self, count: int) -> tuple[str, ...]:
        """Return the ids of the settings that are expected to be the best, the best first."""
        return tuple(self._space.ids[place] for place in finalists(self._space.settings, self._known, count))

    def exclude(self, rows: Collection[str]) -> None:
        """Leave out settings of which it is known only now that they may not be used, by their ids."""
        places = (self._space.places[row] for row in rows if row in self._space.places)
        self._known = replace(self._known, excluded={*self._known.excluded, *places})

    @property
    def taken(self) -> LaunchCosts:
        """What launches took."""
        return self._taken

    def affordable(self, count: int, left_s: float) -> tuple[str, ...]:
        """Return the ids of the best settings that can be confirmed in the time that is left, at most ``count``."""
        return self._confirmation.affordable(self.best(count), self._taken, left_s)

    def _learn(
        self,
        group: Group,
        records: Sequence[LaunchRecord],
        timing: Timing,
        launches: Sequence[Observed],
        eligibility: Eligibility,
    ) -> None:
        by_latency = observe(replace(group, goal=Goal("latency")), records, timing)
        latencies = self._latencies(by_latency, eligibility)
        costs = self._costs(launches, eligibility, eligibility.baseline or group.baseline)
        self._taken = LaunchCosts(self._confirmation.cells, records)
        self._known = Known(
            costs={place: self._usable(place, values, latencies.get(place, ())) for place, values in costs.items()},
            latencies=latencies,
            batches=self._space.batches,
            patience_ms=1e3 * self._seconds / _CALLS_OF_A_SETTING,
            max_latency_ms=group.goal.max_latency_ms if group.goal is not None else None,
            excluded=self._excluded(eligibility),
            first=self._space.smallest,
        )

    def _fitting(self, beside: Sequence[str], settings: Sequence[str], timing: Timing, pace: Pace) -> tuple[str, ...]:
        """Return the cells of the next launch: as many settings as fit before the confirmation."""
        left_s = self._until_s() - pace.elapsed_s - pace.closing_s
        for count in range(len(settings), 0, -1):
            cells = tuple(dict.fromkeys((*beside, *settings[:count])))
            if launch_s(self._taken.of(cells), timing, verifies=True) <= left_s:
                return cells
        return ()

    def _affordable_at_first(self, beside: int, settings: int, timing: Timing) -> int:
        """Return how many settings the first launch has: with usual starts, it leaves most of the time."""
        fitting = (
            count
            for count in range(settings, 1, -1)
            if launch_s([GUESSED] * (beside + count), timing, verifies=True) <= _LEAST_SEARCH * self._seconds
        )
        return next(fitting, 1)

    def _until_s(self) -> float:
        """Return when the search must have ended, in seconds from its beginning."""
        plan, best = self._confirmation, self.best(_PLANNED)
        planned_s = max(self._seconds - plan.needed_s(best, self._taken), _LEAST_SEARCH * self._seconds)
        return min(planned_s, plan.spare_s(best, self._taken, self._seconds))

    def _costs(
        self, launches: Sequence[Observed], eligibility: Eligibility, baseline: str
    ) -> dict[int, tuple[float, ...]]:
        places = self._space.places
        ratios = {cell: launch_ratios(launches, cell, baseline) for cell in eligibility.compared if cell in places}
        return {places[cell]: values for cell, values in ratios.items() if values}

    def _usable(self, place: int, costs: Sequence[float], latencies: Sequence[float]) -> tuple[float, ...]:
        """Return costs by the throughput that can be used."""
        if not latencies:
            return tuple(costs)
        share = self._confirmation.usable_share(self._space.cells[place], math.exp(statistics.median(latencies)))
        return tuple(cost - math.log(share) for cost in costs)

    def _latencies(self, launches: Sequence[Observed], eligibility: Eligibility) -> dict[int, list[float]]:
        places = self._space.places
        latencies: dict[int, list[float]] = {}
        for cell in (cell for cell in eligibility.healthy if cell in places):
            levels = (log_level(launch, cell) for launch in launches)
            latencies[places[cell]] = [level - math.log(1e6) for level in levels if level is not None]
        return latencies

    def _excluded(self, eligibility: Eligibility) -> frozenset[int]:
        other_precision = set(eligibility.healthy) - set(eligibility.compared)
        wrong = {cell for cell, state in eligibility.states.items() if state in _UNABLE}
        places = self._space.places
        return frozenset(places[cell] for cell in (*wrong, *eligibility.too_slow, *other_precision) if cell in places)
