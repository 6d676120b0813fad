"""Which settings a search launches next, and which it ends with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import launches
import numpy as np
import pytest

from irbench.core.record import LaunchRecord
from irbench.features.tune.confirmation_plan import ConfirmationByCalls, ConfirmationPlan, confirmation_timing
from irbench.features.tune.gaussian_process import Settings
from irbench.features.tune.launch_costs import LaunchCosts, RowCost, confirmation_s, launch_s
from irbench.features.tune.search_schedule import (
    SEARCH,
    Known,
    SearchSchedule,
    finalists,
    propose,
    with_requested,
)
from irbench.features.tune.search_space import SearchSpace
from irbench.spec import Cell, Goal, Group, Load, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.stopping_rule import Next, Pace

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


def test_where_preparation_took_all_time_no_other_setting_is_tried():
    found = search(1)
    proposed = propose(SETTINGS, known(found, patience_ms=0.0), 16, np.random.default_rng(0))
    assert set(proposed.places) <= set(found)


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


ROW_IDS = tuple(
    Cell(f"{backend}{batch}x{streams}", None, backend, "cpu", Load(batch, 2, streams))
    for backend in ("ort", "openvino")
    for batch in (1, 2, 4, 8)
    for streams in (1, 2, 3)
)
DEFAULTS = tuple(Cell(f"{backend}-default", None, backend, "cpu", Load(1, None)) for backend in ("ort", "openvino"))
CELLS = {each.id: each for each in (*DEFAULTS, *ROW_IDS)}


def schedule(seconds: float) -> SearchSchedule:
    plan = ConfirmationByCalls(CELLS, lambda _batch: tuple(cell.id for cell in DEFAULTS), confirmation_timing(Timing()))
    return SearchSchedule(SearchSpace(ROW_IDS, 2), plan, seconds, 0, [cell.id for cell in DEFAULTS])


def group() -> Group:
    return replace(launches.group(*CELLS), cells=tuple(CELLS.values()), baseline="ort-default", goal=Goal("fps"))


def following(search: SearchSchedule, records: Sequence[LaunchRecord] = (), elapsed_s: float = 0.0) -> Next:
    return search.following(group(), records, SEARCH, Admission(), Pace(elapsed_s, [10.0] * len(records)))


def probed(number: int, cells: Sequence[str]) -> LaunchRecord:
    """Return a launch whose calls take 10 ms for each sample."""
    own = [
        launches.measured(cell, [launches.synchronous(block, [1e7 * CELLS[cell].load.batch]) for block in range(2)])
        for cell in cells
    ]
    return launches.launch(number, own)


def test_the_first_launch_has_every_default_and_settings_with_the_smallest_batch():
    first = following(schedule(300)).cells
    assert first[:2] == ("ort-default", "openvino-default")
    assert len(first) == SEARCH.most_cells
    assert {CELLS[cell].load.batch for cell in first} == {1}


def test_later_launches_have_the_baseline_and_settings():
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    later = following(search, records).cells
    assert later[0] == "ort-default"
    assert "openvino-default" not in later


@pytest.mark.parametrize(("elapsed_s", "goes_on"), [(60, True), (299, False)])
def test_a_search_ends_where_the_confirmation_would_not_fit_any_more(elapsed_s: float, goes_on: bool):
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    found = following(search, records, elapsed_s)
    assert (found.stopped_by is None) is goes_on
    assert found.stopped_by in (None, "budget")


def test_the_last_launch_has_as_many_settings_as_there_is_time_for():
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    counts = [len(following(search, records, elapsed_s).cells) for elapsed_s in range(150, 300)]
    assert set(counts) & {2, 3, 4, 5}
    assert counts == sorted(counts, reverse=True)


def test_as_many_of_the_best_are_confirmed_as_the_rest_of_the_time_allows():
    search = schedule(300)
    records = [probed(0, following(search).cells)]
    following(search, records)
    assert len(search.affordable(3, 1000.0)) == 3
    assert len(search.affordable(3, 1.0)) == 1


def test_a_setting_that_turns_out_not_to_be_usable_gives_its_place_to_the_next_best():
    search = schedule(300)
    following(search, [probed(0, following(search).cells)])
    first, *others = search.affordable(3, 1000.0)
    search.exclude({first, DEFAULTS[0].id})
    assert search.affordable(3, 1000.0)[:2] == tuple(others)


def test_launches_of_a_search_warm_up_for_as_long_as_was_asked_and_otherwise_briefly():
    assert with_requested(SEARCH, Timing(within=0.05, deadline=7)) == replace(SEARCH, within=0.05, deadline=7)
    asked = with_requested(SEARCH, Timing(warm_up=0.0, warm_up_calls=900, look_calls=0))
    assert (asked.warm_up, asked.warm_up_calls, asked.look_calls) == (0.0, 900, 0)


BATCH_1, BATCH_16 = RowCost(1.5, 0.035), RowCost(1.5, 0.56)


def test_a_probe_of_a_batch_takes_its_calls_and_not_as_many_of_them():
    """16 times the call, and about 4 times the time of the probe: its calls are fewer."""
    probes_s = [launch_s([row], SEARCH, verifies=True) for row in (BATCH_1, BATCH_16)]
    assert probes_s[1] < 3 * probes_s[0]
    usual_s = launch_s([BATCH_16], Timing(), verifies=True)
    assert probes_s[1] < 0.5 * usual_s


def test_a_confirmation_with_a_batch_of_16_takes_a_third_of_five_minutes():
    rows = [BATCH_1, RowCost(2.0, 0.033), BATCH_16, RowCost(2.0, 0.5, in_flight=2)]
    assert confirmation_s(rows, confirmation_timing(Timing()), 4) < 100


def test_rows_on_a_gpu_are_given_the_time_that_they_settle():
    on_cpu, on_gpu = (launch_s([replace(BATCH_1, on_gpu=gpu), BATCH_1], SEARCH, verifies=True) for gpu in (False, True))
    blocks = SEARCH.min_blocks + SEARCH.burn_in_blocks
    assert on_gpu >= on_cpu + blocks * 1.5 * (Timing().gpu_settle - BATCH_1.completion_s) - 0.01


def test_launches_after_the_first_start_side_by_side():
    rows = [BATCH_1] * 4
    assert launch_s(rows, SEARCH, verifies=False) < launch_s(rows, SEARCH, verifies=True) - 1


def test_a_warm_up_of_given_calls_takes_these_calls_in_each_launch():
    plain = Timing(look_calls=0)
    longer_s = [
        launch_s([BATCH_1] * 2, replace(plain, warm_up=0.0, warm_up_calls=200), verifies=verifies)
        - launch_s([BATCH_1] * 2, plain, verifies=verifies)
        for verifies in (True, False)
    ]
    assert longer_s == [pytest.approx(2 * (200 * 0.035 - 0.3))] * 2


def cell(name: str, backend: str, batch: int = 1, **load: int) -> Cell:
    return Cell(name, None, backend, "cpu", Load(batch=batch, **load))  # type: ignore[arg-type]


BATCHED_CELLS = {
    each.id: each
    for each in (cell("a", "ort"), cell("a16", "ort", 16), cell("b", "openvino"), cell("b2", "openvino", 2, streams=2))
}


def launched() -> LaunchCosts:
    records = launches.even({"a": [10.0], "b": [4.0]}, calls_per_sample=1)
    return LaunchCosts(BATCHED_CELLS, records)


def test_a_row_that_was_not_launched_is_taken_to_be_like_those_of_its_backend():
    a16, b2 = launched().of(["a16", "b2"])
    assert (a16.completion_s, a16.in_flight) == (pytest.approx(0.16), 1)
    assert (b2.completion_s, b2.in_flight) == (pytest.approx(0.008), 2)


def test_before_anything_was_launched_starts_are_guessed():
    (row,) = LaunchCosts(BATCHED_CELLS, ()).of(["a16"])
    assert row.start_s > 0
    assert launch_s([row], SEARCH, verifies=True) > 0


def plan(timing: Timing) -> ConfirmationPlan:
    return ConfirmationByCalls(BATCHED_CELLS, lambda batch: ("b",) if batch == 1 else ("b", "b2"), timing)


def test_as_many_settings_are_confirmed_as_there_is_time_for():
    confirmation, costs = plan(Timing()), launched()
    needed_s = confirmation.needed_s(["a", "a16"], costs)
    assert confirmation.affordable(["a", "a16"], costs, needed_s + 1) == ("a", "a16")
    assert confirmation.affordable(["a", "a16"], costs, needed_s - 1) == ("a",)
    assert confirmation.affordable(["a", "a16"], costs, 0.0) == ("a",)
    assert confirmation.affordable([], costs, 100.0) == ()


def test_no_more_settings_are_confirmed_than_one_launch_takes_with_the_references():
    assert plan(Timing(most_cells=2)).affordable(["a", "a16"], launched(), 1e6) == ("a",)


def test_the_references_of_a_confirmation_are_those_of_the_batch_of_the_best_setting():
    confirmation, costs = plan(Timing()), launched()
    assert confirmation.needed_s(["a16"], costs) > confirmation.needed_s(["a"], costs) + 4


def test_what_comes_before_a_confirmation_leaves_time_for_a_launch_of_the_best_and_may_use_that_of_the_others():
    confirmation, costs = plan(Timing()), launched()
    needed_s = confirmation.needed_s(["a"], costs)
    spare_s = confirmation.spare_s(["a", "a16"], costs, needed_s)
    assert needed_s - spare_s == pytest.approx(needed_s / Timing.min_launches)
    assert confirmation.spare_s(["a"], costs, needed_s + 5) == pytest.approx(spare_s + 5)
