"""Changes of level in a series are found where they are, and rarely where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from irbench.features.history.change_points import FEWEST_VALUES, change_points

LEVEL = [1.0, 1.01, 0.99, 1.02, 1.0, 1.005, 0.98, 1.01]


def places(values: list[float]) -> list[int]:
    return [split.position for split in change_points(values)]


def test_a_step_is_found_at_its_first_value():
    assert places([*LEVEL, *(1.2 * value for value in LEVEL)]) == [len(LEVEL)]


def test_two_values_on_a_new_level_are_enough_after_eight():
    assert places([*LEVEL, 1.2, 1.21]) == [8]


def test_a_step_up_and_one_down_are_two():
    assert places([*LEVEL, *(1.3 * value for value in LEVEL), *LEVEL]) == [8, 16]


def test_a_single_value_that_stands_out_is_no_level():
    assert places([*LEVEL, 2.0, *LEVEL]) == []


def test_few_values_have_no_change_however_large():
    assert places([1.0] * (FEWEST_VALUES - 4) + [5.0] * 3) == []


def test_equal_values_have_none():
    assert places([3.0] * 20) == []


def test_the_same_series_has_the_same_change_points_with_the_same_p_values():
    series = [*LEVEL, *(1.05 * value for value in LEVEL)]
    assert change_points(series) == change_points(series)


def test_units_and_direction_do_not_matter():
    series = [*LEVEL, *(1.1 * value for value in LEVEL)]
    assert places([1000 * value for value in series]) == places(series) == places([-value for value in series])


@pytest.mark.ci
@pytest.mark.parametrize(
    "scatter",
    ["normal", "standard_cauchy", "exponential"],
)
def test_about_one_series_of_twenty_without_a_change_has_one(scatter: str):
    random = np.random.default_rng(3)
    found = [bool(places(list(getattr(random, scatter)(size=12)))) for _ in range(60)]
    assert np.mean(found) < 0.15
