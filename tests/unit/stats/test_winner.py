import math

import pytest
from launches import even, group

from irbench.spec import Timing
from irbench.stats.observed import observe
from irbench.stats.winner import find_winner, launches_for_interval

TIMING = Timing()
WOBBLE = [1.000, 1.002, 0.998, 1.001, 0.999, 1.003, 1.000]


def finding(levels_ms, launches=6, timing=TIMING):
    times = {cell: [level * one for one in WOBBLE[:launches]] for cell, level in levels_ms.items()}
    times[next(iter(times))] = [levels_ms[next(iter(times))]] * launches
    return find_winner(observe(group(*times), even(times), timing), list(times), timing)


def test_the_winner_is_compared_with_its_nearest_rival_and_not_with_the_baseline():
    winner = finding({"fast": 8.0, "near": 10.0, "far": 20.0}).winner
    assert (winner.cell, winner.rival) == ("fast", "near")
    assert winner.value == pytest.approx(1.25, rel=0.01)
    assert winner.low == pytest.approx(1.25 * 0.998)
    assert winner.high == pytest.approx(1.25 * 1.003)


def test_of_two_cells_the_winners_interval_is_that_of_the_row():
    assert finding({"a": 8.0, "b": 10.0}).coverage == 0.96875


def test_six_launches_are_enough_to_claim_the_best_of_four_and_the_interval_says_what_it_covers():
    found = finding({"a": 8.0, "b": 10.0, "c": 11.0, "d": 12.0})
    assert found.winner is not None
    assert found.coverage == 1 - 4 / 64
    assert finding({"a": 8.0, "b": 10.0, "c": 11.0, "d": 12.0}, launches=7).coverage == 1 - 4 / 128


def test_six_launches_cannot_name_the_best_of_five_but_seven_can():
    cells = {"a": 8.0, "b": 10.0, "c": 11.0, "d": 12.0, "e": 13.0}
    assert finding(cells).winner is None
    assert finding(cells).reason == "preview"
    assert finding(cells, launches=7).winner is not None


def test_the_launches_that_each_number_of_cells_needs():
    assert [launches_for_interval(cells, 0.95) for cells in (2, 3, 4, 5, 6)] == [6, 6, 7, 7, 7]


def test_fewer_launches_than_planned_name_no_winner():
    found = finding({"a": 8.0, "b": 10.0}, launches=3)
    assert (found.winner, found.reason) == (None, "preview")
    assert found.leader == "a"


def test_five_launches_of_two_cells_would_do_one_sidedly_and_still_name_no_winner_before_the_sixth():
    assert finding({"a": 8.0, "b": 10.0}, launches=5).reason == "preview"


def test_of_nine_launches_the_adjusted_interval_of_three_cells_leaves_none_out_where_a_rows_leaves_one():
    times = {"a": [8.0] * 9, "b": [10.0, 10.5, *[10.1] * 7], "c": [20.0] * 9}
    three = find_winner(observe(group(*times), even(times), TIMING), ["a", "b", "c"], TIMING)
    two = find_winner(observe(group(*times), even(times), TIMING), ["a", "b"], TIMING)
    assert (three.ratio.rank, two.ratio.rank) == (1, 2)
    assert math.exp(three.ratio.high) == pytest.approx(10.5 / 8)
    assert math.exp(two.ratio.high) == pytest.approx(10.1 / 8)


def test_cells_within_the_band_are_the_same_and_have_no_winner():
    found = finding({"a": 9.95, "b": 10.0})
    assert (found.winner, found.reason) == (None, "same")


def test_a_rival_that_was_faster_once_leaves_it_undecided():
    times = {"a": [8.0] * 6, "b": [10.0, 10.0, 10.0, 7.9, 10.0, 10.0]}
    found = find_winner(observe(group("a", "b"), even(times), Timing()), ["a", "b"], Timing())
    assert (found.winner, found.reason) == (None, "undecided")
    assert math.exp(found.ratio.low) == pytest.approx(7.9 / 8)


def test_the_claim_fails_if_any_rival_and_not_only_the_nearest_may_be_faster():
    times = {"a": [8.0] * 6, "near": [9.0] * 6, "wild": [12.0, 12.0, 12.0, 12.0, 12.0, 7.0]}
    found = find_winner(observe(group(*times), even(times), Timing()), list(times), Timing())
    assert found.rival == "near"
    assert (found.winner, found.reason) == (None, "undecided")


def test_one_cell_has_nobody_to_beat():
    assert finding({"a": 8.0}).winner is None
    assert finding({"a": 8.0}).leader is None
