import random
from collections import Counter

import pytest

from irbench.spec import Timing
from irbench.stats import (
    LaunchCost,
    block_order,
    calls_per_sample,
    expected_seconds,
    fit_to_budget,
    samples_per_round,
    settle_calls,
)

TIMING = Timing()


@pytest.mark.parametrize(
    ("call_ns", "calls"), [(30e6, 1), (20_000, 1), (19_999, 3), (5_000, 10), (40, 1250), (0, 50_000)]
)
def test_calls_too_short_for_the_clock_are_timed_together_for_50_microseconds(call_ns, calls):
    assert calls_per_sample(call_ns) == calls


def test_a_round_takes_three_samples_of_a_slow_model_and_25_ms_of_a_fast_one():
    assert samples_per_round({"a": 300e6}, {"a": 1}, TIMING) == {"a": 3}
    assert samples_per_round({"a": 1e6}, {"a": 1}, TIMING) == {"a": 25}
    assert samples_per_round({"a": 2e6}, {"a": 1}, TIMING) == {"a": 13}


def test_the_number_of_samples_is_odd():
    for call_ns in (1e5, 3e5, 1.1e6, 7e6, 4e7):
        assert samples_per_round({"a": call_ns}, {"a": 1}, TIMING)["a"] % 2 == 1


def test_all_cells_take_as_many_samples_as_the_fastest_needs():
    assert samples_per_round({"a": 4e6, "b": 1e6}, {"a": 1, "b": 1}, TIMING) == {"a": 25, "b": 25}


def test_cells_more_than_four_times_apart_take_their_own_numbers():
    assert samples_per_round({"a": 4.1e6, "b": 1e6}, {"a": 1, "b": 1}, TIMING) == {"a": 7, "b": 25}


def test_with_streams_a_round_lasts_50_ms_and_four_completions_of_each_stream():
    assert samples_per_round({"a": 1e6, "b": 1e6}, {"a": 1, "b": 2}, TIMING) == {"a": 51, "b": 52}
    assert samples_per_round({"a": 30e6, "b": 30e6}, {"a": 1, "b": 8}, TIMING) == {"a": 33, "b": 40}


@pytest.mark.parametrize("streams", [2, 3, 4, 7])
def test_a_cell_with_streams_takes_whole_bursts(streams):
    samples = samples_per_round({"a": 1.3e6, "b": 9e6}, {"a": streams, "b": 1}, TIMING)
    assert samples["a"] % streams == 0
    assert samples["b"] % 2 == 1


def test_a_sample_of_many_calls_counts_as_long_as_it_lasts():
    assert samples_per_round({"a": 5_000}, {"a": 1}, TIMING) == {"a": 501}


def test_no_cells_need_no_samples():
    assert samples_per_round({}, {}, TIMING) == {}


@pytest.mark.parametrize(("call_ns", "fewest"), [(1_000_000, 5), (300_000, 17), (5_000_000, 1), (80_000_000, 1)])
def test_a_round_settles_for_5_ms_or_a_call_and_by_chance_for_up_to_twice_as_many(call_ns, fewest):
    drawn = {settle_calls(call_ns, Timing(), random.Random(seed)) for seed in range(500)}
    assert drawn == set(range(fewest, 2 * fewest + 1))


def test_every_second_block_is_the_reverse_of_the_one_before():
    generator, order = random.Random(1), ()
    cells = ("a", "b", "c", "d")
    for number in range(12):
        previous, order = order, block_order(number, cells, order, generator)
        assert sorted(order) == sorted(cells)
        if number % 2:
            assert order == tuple(reversed(previous))


def test_over_any_pair_of_blocks_every_cell_has_the_same_mean_position():
    generator = random.Random(2)
    first = block_order(0, ("a", "b", "c"), (), generator)
    second = block_order(1, ("a", "b", "c"), first, generator)
    assert {cell: first.index(cell) + second.index(cell) for cell in "abc"} == {"a": 2, "b": 2, "c": 2}


def test_every_permutation_comes_up_about_equally_often():
    generator = random.Random(3)
    seen = Counter(block_order(0, ("a", "b", "c"), (), generator) for _ in range(6000))
    assert len(seen) == 6
    assert all(850 < count < 1150 for count in seen.values())


def test_a_cell_that_left_is_missing_from_the_reverse():
    assert block_order(1, ("a", "c"), ("b", "c", "a"), random.Random(0)) == ("a", "c")


def test_equal_seeds_give_equal_orders():
    assert block_order(4, tuple("abcdef"), (), random.Random(7)) == block_order(
        4, tuple("abcdef"), (), random.Random(7)
    )


def test_a_fast_model_keeps_all_its_blocks():
    assert fit_to_budget(TIMING, LaunchCost(start_s=10, block_s=0.2)) == TIMING


def test_a_slow_model_gives_up_blocks_before_launches():
    fitted = fit_to_budget(TIMING, LaunchCost(start_s=13, block_s=2.0))
    assert (fitted.blocks, fitted.max_blocks) == (4, 6)
    assert 6 * (13 + fitted.max_blocks * 2.0) <= TIMING.budget  # also when blocks must be repeated
    assert fitted.min_launches == TIMING.min_launches


def test_the_sustained_runs_are_paid_for_first():
    assert fit_to_budget(TIMING, LaunchCost(start_s=13, block_s=1.0)).blocks == 8
    assert fit_to_budget(TIMING, LaunchCost(start_s=13, block_s=1.0, closing_s=12)).blocks == 6


def test_no_launch_has_fewer_than_four_blocks_whatever_it_costs():
    fitted = fit_to_budget(TIMING, LaunchCost(start_s=100, block_s=30))
    assert (fitted.blocks, fitted.max_blocks) == (4, 6)


def test_a_plan_of_two_blocks_is_not_given_more():
    assert fit_to_budget(Timing(blocks=2, max_blocks=2), LaunchCost(100, 30)).blocks == 2


def test_an_estimate_grows_with_the_cells_and_ends_at_the_budget():
    few, many = expected_seconds(1, TIMING, 2.0), expected_seconds(4, TIMING, 2.0)
    assert few[0] < many[0] <= many[1] == TIMING.budget
    assert few[0] == pytest.approx(6 * (2.0 + 0.5 + 8 * 0.03) + 3)
