"""Rounds in which feeds take turns."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from irbench.spec import Timing
from irbench.stats.launch_planning import (
    LaunchCost,
    Room,
    Scatter,
    behind,
    block_order,
    blocks_worth_taking,
    calls_per_sample,
    equal_calls,
    fewest_calls,
    fits,
    launch_limits,
    launch_size,
    least_table_s,
    needs_more_blocks,
    same_mix,
    samples_per_round,
    settle_calls,
    whole_turns,
)


@pytest.mark.parametrize(
    ("samples", "calls", "streams", "feeds", "expected"),
    [(5, 1, 1, 12, 12), (25, 1, 1, 12, 36), (12, 1, 1, 12, 12), (5, 4, 1, 12, 6), (3, 12, 1, 12, 3), (4, 1, 4, 6, 12)],
)
def test_a_round_uses_every_feed_equally_often(
    samples: int, calls: int, streams: int, feeds: int, expected: int
) -> None:
    found = whole_turns({"a": samples}, {"a": calls}, {"a": streams}, feeds)["a"]
    assert found == expected
    assert found * calls % feeds == 0


@pytest.mark.parametrize(
    ("samples", "calls", "streams", "expected"),
    [
        ((3, 25), (1, 1), (1, 1), (3, 3)),
        ((3, 25), (1, 1), (1, 4), (4, 4)),
        ((7, 9), (1, 1), (1, 4), (8, 8)),
        ((40, 6), (1, 4), (1, 1), (24, 6)),
        ((3, 5), (7, 5), (1, 1), (5, 7)),
    ],
)
def test_cells_make_as_many_calls_as_the_one_that_makes_the_fewest(
    samples: tuple[int, int], calls: tuple[int, int], streams: tuple[int, int], expected: tuple[int, int]
) -> None:
    found = equal_calls(*(dict(zip("ab", numbers, strict=True)) for numbers in (samples, calls, streams)))
    assert found == dict(zip("ab", expected, strict=True))
    assert found["a"] * calls[0] == found["b"] * calls[1]


def test_a_slow_cell_makes_few_calls_where_no_small_number_suits_all() -> None:
    assert equal_calls({"a": 3, "b": 25}, {"a": 1, "b": 10}, {"a": 1, "b": 1}) == {"a": 3, "b": 1}
    assert fewest_calls({"a": 3, "b": 1}, {"a": 1, "b": 10}) == 3


@pytest.mark.parametrize(
    ("samples", "feeds", "expected"),
    [((30, 5), 4, (32, 8)), ((12, 13), 12, (12, 24)), ((3, 300), 12, (3, 3)), ((300, 11), 12, (11, 11))],
)
def test_uninterrupted_runs_meet_the_same_mix_of_feeds(
    samples: tuple[int, int], feeds: int, expected: tuple[int, int]
) -> None:
    ones = {"a": 1, "b": 1}
    assert same_mix(dict(zip("ab", samples, strict=True)), ones, ones, feeds) == dict(zip("ab", expected, strict=True))


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
    assert samples_per_round({"a": 1e6, "b": 1e6}, {"a": 1, "b": 2}, TIMING) == {"a": 51, "b": 50}
    assert samples_per_round({"a": 30e6, "b": 30e6}, {"a": 1, "b": 8}, TIMING) == {"a": 33, "b": 32}


@pytest.mark.parametrize("streams", [2, 3, 4, 7])
def test_a_cell_with_streams_takes_whole_bursts(streams):
    samples = samples_per_round({"a": 1.3e6, "b": 9e6}, {"a": streams, "b": 1}, TIMING)
    assert samples["a"] % streams == 0
    assert samples["b"] % 2 == 1


def test_a_sample_of_many_calls_counts_as_long_as_it_lasts():
    assert samples_per_round({"a": 5_000}, {"a": 1}, TIMING) == {"a": 501}


def test_with_streams_the_samples_of_each_can_be_fewer():
    few = replace(TIMING, min_calls=1, calls_per_stream=1)
    assert samples_per_round({"a": 500e6, "b": 100e6}, {"a": 1, "b": 2}, few) == {"a": 1, "b": 2}


def test_rows_that_the_first_block_shows_far_behind_are_timed_no_more():
    costs = {"best": 10.0, "near": 10.9, "far": 11.2}
    assert behind(costs, replace(TIMING, behind=1.1)) == {"far"}
    assert behind(costs, TIMING) == set()
    assert behind({}, replace(TIMING, behind=1.1)) == set()


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


ROOM = Room(left_s=90.0, launches=4)


def sized(start_s, block_s, room=ROOM, scatters=(), timing=TIMING):
    found = launch_size(timing, LaunchCost(start_s, block_s), room, scatters)
    return found.blocks, found.max_blocks


def test_a_fast_model_keeps_all_its_blocks():
    assert sized(10, 0.2) == (8, 12)


def test_a_slow_model_gives_up_blocks_before_launches():
    assert sized(13, 1.5) == (5, 8)
    assert 4 * (13 + (5 + 1) * 1.5) <= 90.0


def test_launches_that_start_sooner_than_the_first_leave_more_time_to_blocks():
    costs = LaunchCost(start_s=16, block_s=1.0), LaunchCost(start_s=16, block_s=1.0, later_start_s=10)
    assert [launch_size(TIMING, cost, ROOM, ()).blocks for cost in costs] == [5, 8]


def test_no_launch_has_fewer_than_four_blocks_whatever_it_costs():
    assert sized(100, 30) == (4, 4)


def test_blocks_that_replace_disturbed_ones_are_planned_as_far_as_the_launch_ends_in_time():
    assert sized(10, 1.0, Room(left_s=60.0, launches=2)) == (8, 12)
    assert sized(10, 1.0, Room(left_s=60.0, launches=2, end_s=20.5)) == (8, 9)


def test_blocks_that_replace_disturbed_ones_leave_room_for_the_launches_that_an_interval_needs():
    assert sized(10, 1.0, Room(left_s=90.0, launches=4, needed=4)) == (8, 12)
    assert sized(10, 1.0, Room(left_s=90.0, launches=4, end_s=71.0, needed=4)) == (8, 10)


def test_blocks_are_given_up_for_the_launches_that_an_interval_needs_before_these_are_late():
    exactly_s = 4 * 10 + 3 * 5 + 9  # with the fewest blocks of the three that follow
    assert sized(10, 1.0, Room(left_s=90.0, launches=4, end_s=exactly_s, needed=4)) == (4, 4)


def test_launches_fit_where_each_has_its_fewest_blocks():
    assert fits(TIMING, LaunchCost(10, 1.0), Room(left_s=4 * (10 + 5), launches=4))
    assert not fits(TIMING, LaunchCost(10, 1.0), Room(left_s=4 * (10 + 5) - 0.1, launches=4))


@pytest.mark.parametrize(
    ("taken", "clean", "goes_on"),
    [
        (0, 0, True),
        (7, 0, True),  # fewer than were planned
        (8, 8, False),  # as many clean ones as are wanted
        (8, 4, True),  # the four that may follow can make up the eight
        (9, 4, False),  # three more cannot, and four are enough to count
        (9, 3, True),  # a fourth is needed, lest disturbed ones count
        (8, 0, True),
        (9, 0, False),  # not even four can be reached
        (12, 7, False),
    ],
)
def test_a_launch_goes_on_while_more_blocks_can_help(taken, clean, goes_on):
    assert needs_more_blocks(taken, clean, TIMING) is goes_on


def test_a_plan_of_two_blocks_is_not_given_more_for_want_of_time():
    assert sized(100, 30, timing=Timing(blocks=2, max_blocks=2)) == (2, 2)


def test_blocks_that_scatter_more_than_launches_are_given_more_of_them():
    noisy = Scatter(between=0.0004 + 1.047 * 0.0081 / 8, within=0.0081, blocks=8, launches=4)
    assert sized(14, 0.2, scatters=[noisy])[0] > 8


def test_launches_that_scatter_more_than_blocks_are_given_fewer_of_them():
    calm = Scatter(between=0.0004, within=0.000001, blocks=8, launches=4)
    assert sized(2, 0.5, scatters=[calm])[0] == TIMING.min_blocks


def test_two_launches_that_differ_by_chance_do_not_make_later_ones_short():
    differing = Scatter(between=0.04, within=0.000001, blocks=8, launches=2)
    assert sized(2, 0.5, scatters=[differing])[0] == TIMING.blocks


def test_launches_that_do_not_differ_at_all_are_given_the_most_blocks_that_fit():
    alike = Scatter(between=0.0, within=0.0001, blocks=8, launches=4)
    assert sized(2, 0.1, scatters=[alike])[0] == TIMING.most_blocks
    assert sized(2, 1.0, Room(12.0, 1), [alike])[0] == 9


@pytest.mark.parametrize("within_share", [0.1, 1.0, 10.0, 100.0])
def test_no_other_number_of_blocks_buys_more_certainty_for_its_time(within_share):
    launch, within = 1e-4, within_share * 1e-4
    start_s, block_s = 5.0, 0.25
    wide = Timing(min_blocks=1, most_blocks=1000)
    scatter = Scatter(launch + 1.0472 * within / 8, within, 8, 4)
    best = blocks_worth_taking([scatter], start_s, block_s, wide)

    def cost(blocks):
        return (start_s + blocks * block_s) * (launch + 1.0472 * within / blocks)

    assert all(cost(best) <= cost(other) * (1 + 1e-9) for other in (max(1, best - 2), best + 2))


def test_an_estimate_grows_with_the_cells_and_counts_the_baseline_in_each_part():
    one = 4 * (2.0 + 0.3 + 9 * 0.03)
    assert [least_table_s(cells, TIMING, 2.0) for cells in (1, 6)] == pytest.approx([one, 6 * one])
    assert least_table_s(8, TIMING, 2.0) == pytest.approx((4 * 7 + 7) / 4 * one)


@pytest.mark.parametrize(
    ("cells", "launches", "limits"),
    [(1, 3, (3, 3)), (6, 4, (4, 12)), (7, 3, (5, 6)), (8, 3, (5, 6)), (12, 4, (10, 36))],
)
def test_a_group_that_no_launch_holds_has_more_launches(cells: int, launches: int, limits: tuple[int, int]):
    timing = Timing(min_launches=launches, max_launches=3 if launches == 3 else 12)
    assert launch_limits(cells, timing) == limits
