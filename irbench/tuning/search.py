"""Which settings are worth a launch next, and which have the best chances when a search ends."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irbench.tuning.surrogate import Belief, Settings, believe

_DRAWS = 64
_POOL = 256
"""Settings that values are drawn for; those with the best chances where there are more."""
_ENOUGH_LAUNCHES = 2
"""A search has nothing left to find where every setting was launched so often: the best are confirmed anyway."""
_DOUBT = 1.0
"""A setting is left out where it misses a limit even if it is so many standard deviations better than expected."""


@dataclass(frozen=True)
class Known:
    """What was measured of the settings of a search.

    Attributes:
        costs: Natural logarithm of what is compared, relative to the baseline of the same launch: one value for each
            launch, by the place of a setting.
        latencies: Natural logarithm of the latency of a call, in milliseconds, in the same form.
        batches: Samples per call of every setting, by place.
        patience_ms: Settings whose calls are expected to take longer have no time in a launch.
        max_latency_ms: The latency that was asked for; ``None`` for any.
        excluded: Places of settings that failed, answered wrongly, or missed a limit when they were measured.
        first: Places of settings that may be tried before anything was measured.
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
        gain: How much lower than the best measured cost the lowest of all is expected to be, as a natural logarithm:
            what going on may gain. ``inf`` before anything was measured.
    """

    places: tuple[int, ...]
    gain: float


def propose(settings: Settings, known: Known, count: int, generator: np.random.Generator) -> Proposal:
    """Return the settings of the next launch.

    Before anything was measured, settings far apart from each other. Afterwards those that are the best in values drawn
    from what is believed (Thompson sampling): what looks good is measured again, and what is little known is tried.

    Args:
        settings: All of the search.
        known: What was measured.
        count: How many are wanted.
        generator: Of the draws.
    """
    if not known.costs:
        able = [place for place in known.first if place not in known.excluded]
        return Proposal(_far_apart(settings, able, count, generator), math.inf)
    able = _able(settings, known)
    if all(len(known.costs.get(place, ())) >= _ENOUGH_LAUNCHES for place in able):
        return Proposal((), 0.0)
    belief = believe(settings, known.costs)
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
    belief: Belief = believe(settings, known.costs)
    able = [place for place in known.costs if place not in known.excluded]
    return tuple(sorted(able, key=lambda place: belief.mean[place])[:count])


def _able(settings: Settings, known: Known) -> list[int]:
    """Return the settings that may be launched: measured ones that are not excluded, others that may be quick enough.

    What a launch has no time for must not be tried: until larger batches were measured, their calls are taken to last
    as long per sample. What answers later than was asked for may be tried: until then, to last as long as any other.
    """
    batches = np.log(known.batches)
    per_sample = {place: [value - batches[place] for value in values] for place, values in known.latencies.items()}
    may_run = _hoped_for(settings, per_sample) + batches <= math.log(known.patience_ms)
    if known.max_latency_ms is not None:
        may_run &= _hoped_for(settings, known.latencies) <= math.log(known.max_latency_ms)
    places = range(len(settings.points))
    return [place for place in places if place not in known.excluded and (place in known.costs or may_run[place])]


def _hoped_for(settings: Settings, values: Mapping[int, Sequence[float]]) -> NDArray[np.float64]:
    """Return the lowest value that each setting may reasonably have."""
    belief = believe(settings, values)
    return belief.mean - _DOUBT * belief.deviation


def _far_apart(
    settings: Settings, places: Sequence[int], count: int, generator: np.random.Generator
) -> tuple[int, ...]:
    """Return settings of which each is as far from those before it as it can be."""
    if not places:
        return ()
    chosen = [int(generator.integers(len(places)))]
    apart = settings.distances(places, places).sum(axis=0) + 1e-6 * generator.random((len(places), len(places)))
    while len(chosen) < min(count, len(places)):
        nearest = apart[:, chosen].min(axis=1)
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
    return tuple(places[place] for place in chosen)
