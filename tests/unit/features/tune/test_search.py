"""Which settings a search launches next, and which it ends with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pytest

from irbench.features.tune.search_schedule import Known, finalists, propose
from irbench.features.tune.space import Settings

POINTS = tuple(product(("ort", "openvino"), (1.0, 2.0, 4.0, 8.0), (1.0, 2.0)))
SETTINGS = Settings(POINTS)
BATCHES = tuple(int(batch) for _, batch, _ in POINTS)
SMALLEST = tuple(place for place, batch in enumerate(BATCHES) if batch == 1)


def cost(place: int) -> float:
    backend, batch, threads = POINTS[place]
    return (0.3 if backend == "ort" else 0.0) - 0.2 * math.log2(batch) - 0.5 * math.log2(threads)


BEST = min(range(len(POINTS)), key=cost)


def known(costs: Mapping[int, Sequence[float]], **others: object) -> Known:
    """Return what was measured where a call of each sample takes a millisecond."""
    latencies = {place: [math.log(BATCHES[place])] for place in costs}
    return Known(costs, latencies, BATCHES, first=SMALLEST, **others)  # type: ignore[arg-type]


def search(launches: int, seed: int = 0, **others: object) -> dict[int, list[float]]:
    """Return what a search has measured after some launches of three settings."""
    generator = np.random.default_rng(seed)
    found: dict[int, list[float]] = {}
    for _ in range(launches):
        for place in propose(SETTINGS, known(found, **others), 3, generator).places:
            found.setdefault(place, []).append(cost(place) + generator.normal(0, 0.005))
    return found


def test_the_first_launch_is_of_small_batches_that_differ():
    first = propose(SETTINGS, known({}), 3, np.random.default_rng(0))
    assert set(first.places) <= set(SMALLEST)
    assert len(set(first.places)) == 3
    assert first.gain == math.inf


@pytest.mark.parametrize("seed", range(5))
def test_the_best_setting_is_found_without_measuring_all(seed: int):
    found = search(4, seed)
    assert len(found) < len(POINTS)
    assert finalists(SETTINGS, known(found), 2)[0] == BEST


def test_what_going_on_may_gain_falls_as_more_is_known():
    generator = np.random.default_rng(0)
    after = [propose(SETTINGS, known(search(launches)), 3, generator).gain for launches in (1, 3, 6)]
    assert after[0] > after[2]
    assert after[2] < 0.01


def test_the_same_seed_searches_in_the_same_way():
    assert list(search(3, seed=7)) == list(search(3, seed=7))


def test_what_was_excluded_is_neither_launched_nor_chosen():
    found = search(5, excluded={BEST})
    assert BEST not in found
    assert BEST not in finalists(SETTINGS, known({**found, BEST: [-9.0]}, excluded={BEST}), 9)


def test_batches_that_a_launch_has_no_time_for_are_not_tried():
    found = search(6, patience_ms=3.0)
    assert {BATCHES[place] for place in found} == {1, 2}


def test_batches_that_are_expected_to_break_a_limit_of_the_latency_are_not_tried():
    found = {place: [cost(place)] for place in range(len(POINTS)) if BATCHES[place] in (1, 8)}
    slow = {place for place in found if BATCHES[place] == 8}
    asked = known(found, max_latency_ms=1.5, excluded=slow)
    proposed = propose(SETTINGS, asked, 16, np.random.default_rng(0)).places
    assert 4 not in {BATCHES[place] for place in proposed}


def test_a_limit_does_not_keep_larger_batches_from_being_tried():
    found = {place: [cost(place)] for place in SMALLEST}
    proposed = propose(SETTINGS, known(found, max_latency_ms=2.5), 16, np.random.default_rng(0)).places
    assert {BATCHES[place] for place in proposed} == {1, 2, 4, 8}


def test_nothing_is_proposed_where_every_setting_was_launched_twice():
    found = {place: [cost(place)] * 2 for place in range(len(POINTS))}
    assert propose(SETTINGS, known(found), 3, np.random.default_rng(0)).places == ()


def test_finalists_are_the_best_that_were_measured():
    found = {place: [cost(place)] for place in range(len(POINTS)) if place != BEST}
    ranked = sorted(found, key=cost)
    assert finalists(SETTINGS, known(found), 3)[0] in ranked[:2]
    assert BEST not in finalists(SETTINGS, known(found), 99)
    assert finalists(SETTINGS, known({}), 3) == ()
