"""The shift between two independent samples, and an interval that holds it as often as it says."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.stats.two_samples import rank_of, shift_between

VALUES = st.lists(st.floats(-100, 100).map(lambda value: round(value, 3)), min_size=4, max_size=7)


@pytest.mark.parametrize(
    ("base", "new", "rank"), [(3, 3, 0), (4, 4, 1), (4, 5, 2), (5, 5, 3), (6, 6, 6), (8, 8, 14), (12, 12, 38)]
)
def test_ranks_are_those_of_the_tables_of_mann_and_whitney(base: int, new: int, rank: int):
    assert rank_of(base, new, 0.05) == rank


@pytest.mark.parametrize(("base", "new"), [(3, 4), (4, 4), (5, 4)])
def test_the_rank_is_the_largest_that_all_orders_together_allow(base: int, new: int):
    values = range(base + new)
    below = [
        sum(after < before for after in chosen for before in set(values) - set(chosen))
        for chosen in itertools.combinations(values, new)
    ]
    for miss in (0.2, 0.1, 0.05, 0.02):
        allowed = [k for k in range(base * new // 2) if 2 * sum(u < k for u in below) <= miss * len(below)]
        assert rank_of(base, new, miss) == max(allowed)


def test_many_values_need_no_counting_and_get_the_same_rank_within_one():
    assert abs(rank_of(50, 50, 0.05) - 966) <= 1
    assert 970 < rank_of(51, 50, 0.05) < 1000


@given(VALUES, VALUES, st.floats(-50, 50))
def test_what_is_added_to_one_sample_is_added_to_the_shift(base: list[float], new: list[float], added: float):
    before = shift_between(base, new, 0.95)
    after = shift_between(base, [value + added for value in new], 0.95)
    assert after.value == pytest.approx(before.value + added, abs=1e-9)
    assert after.low <= after.value <= after.high


@given(VALUES, VALUES)
def test_swapping_both_samples_negates_the_shift(base: list[float], new: list[float]):
    there, back = shift_between(base, new, 0.95), shift_between(new, base, 0.95)
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -back.high, -back.low))


def test_three_launches_each_have_a_range_and_no_interval():
    shift = shift_between([1, 2, 3], [5, 6, 7], 0.95)
    assert (shift.value, shift.low, shift.high, shift.confidence) == (4, 2, 6, None)


def test_an_empty_sample_has_no_shift():
    with pytest.raises(statistics.StatisticsError):
        shift_between([], [1.0], 0.95)


@pytest.mark.parametrize("counts", [(4, 4), (5, 9), (12, 12)])
@pytest.mark.parametrize("scatter", ["normal", "standard_cauchy", "exponential"])
def test_the_interval_holds_the_shift_as_often_as_it_says_whatever_the_scatter(counts: tuple[int, int], scatter: str):
    random = np.random.default_rng(7)
    runs = 1500
    held = 0
    for _ in range(runs):
        base, new = (getattr(random, scatter)(size=count) for count in counts)
        shift = shift_between(list(base), list(new + 3), 0.95)
        held += shift.low <= 3 <= shift.high
    assert held / runs > 0.93
