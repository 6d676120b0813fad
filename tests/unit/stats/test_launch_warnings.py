"""Warnings about how launches scatter: neighbours that resemble each other, slow ones, two speeds."""

import numpy as np
import pytest
from launches import even, group
from warned import pair, warnings

from irbench.stats.modes import split_in_two
from irbench.stats.notices.comparison_warnings import neighbour_chance


def test_launches_that_resemble_their_neighbours_are_told():
    slow = even({"base": [10.0] * 8, "cell": [9.0, 9.02, 9.05, 9.09, 9.2, 9.25, 9.31, 9.4]}, blocks=8)
    assert warnings(group("base", "cell"), slow)["launches-depend"] == {"cells": ["base"]}


def test_launches_that_alternate_do_not_resemble_their_neighbours():
    turns = even({"base": [10.0] * 8, "cell": [9.0, 9.4, 9.01, 9.39, 9.02, 9.38, 9.03, 9.37]}, blocks=8)
    assert "launches-depend" not in warnings(group("base", "cell"), turns)


def test_the_chance_of_such_close_neighbours_is_that_of_all_orders_alike():
    assert neighbour_chance([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 720, abs=0.002)
    assert neighbour_chance([1, 6, 2, 5, 3, 4]) > 0.9
    assert 0.2 < neighbour_chance([3, 1, 4, 6, 5, 2]) < 0.8


def test_independent_launches_are_rarely_called_dependent():
    draws = np.random.default_rng(5).normal(size=(500, 10)).tolist()
    assert np.mean([neighbour_chance(values) <= 0.05 for values in draws]) < 0.08


def test_one_slow_launch_in_six_is_told_with_its_size():
    found = warnings(group("base", "cell"), pair([10.0, 10.02, 10.01, 10.8, 10.0, 9.99]))
    (row,) = found["slow-launches"]["rows"]
    assert row == {"cell": "cell", "slow_launches": 1, "launches": 6, "slower": pytest.approx(0.08, abs=0.001)}


def test_slow_launches_of_several_cells_are_one_warning():
    records = even({"base": [10.0, 13.0, *[10.0] * 4], "cell": [10.0] * 4 + [12.0, 10.0]}, blocks=8)
    rows = warnings(group("base", "cell"), records)["slow-launches"]["rows"]
    assert [(row["cell"], row["slower"]) for row in rows] == [
        ("base", pytest.approx(0.3)),
        ("cell", pytest.approx(0.2)),
    ]


def test_launches_of_two_speeds_are_called_two_modes():
    found = warnings(group("base", "cell"), pair([36.5, 39.5, 36.6, 39.4, 36.4, 36.5]))
    assert [row["slow_launches"] for row in found["two-modes"]["rows"]] == [2]
    assert "slow-launches" not in found


def test_launches_that_scatter_evenly_have_no_modes():
    found = warnings(group("base", "cell"), pair([10.0, 10.1, 10.2, 10.3, 10.4, 10.5]))
    assert not {"slow-launches", "two-modes"} & set(found)


@pytest.mark.parametrize(
    ("values", "upper"),
    [([1.0, 1.01, 2.0, 1.02], (2,)), ([1.0, 2.0, 3.0], None), ([1.0], None), ([], None), ([1.0, 1.0, 1.0], None)],
)
def test_values_part_at_a_gap_twice_as_wide_as_any_other(values, upper):
    split = split_in_two(values, 0.5)
    assert (split.upper if split else None) == upper
