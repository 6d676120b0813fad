"""The trend of a series: right on average, and with intervals that allow for values that resemble their neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from irbench.stats.soak import FEWEST_VALUES, trend_of

BLOCKS = 100


def autoregressive(random: np.random.Generator, correlation: float, count: int = BLOCKS) -> NDArray[np.float64]:
    """Return noise of unit variance whose neighbours are correlated."""
    values = np.empty(count)
    values[0] = random.normal()
    for index in range(1, count):
        values[index] = correlation * values[index - 1] + np.sqrt(1 - correlation**2) * random.normal()
    return values


def coverage(correlation: float, runs: int = 200) -> float:
    random = np.random.default_rng(7)
    found = (trend_of(autoregressive(random, correlation)) for _ in range(runs))
    return sum(trend is not None and trend.low <= 0 <= trend.high for trend in found) / runs


def test_a_straight_line_has_its_slope_and_no_doubt():
    found = trend_of([3.0 + 2.0 * index for index in range(50)])
    assert found is not None
    assert (found.slope, found.low, found.high) == pytest.approx((2, 2, 2))


def test_a_constant_has_no_slope():
    found = trend_of([5.0] * 50)
    assert found is not None
    assert (found.slope, found.low, found.high) == (0, 0, 0)


def test_too_few_values_have_no_trend():
    assert trend_of(range(FEWEST_VALUES - 1)) is None
    assert trend_of(range(FEWEST_VALUES)) is not None


def test_a_few_outliers_move_nothing():
    values = [float(index) for index in range(60)]
    values[10], values[50] = 1e9, -1e9
    found = trend_of(values)
    assert found is not None
    assert found.slope == pytest.approx(1)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_the_interval_of_the_mirrored_values_is_the_mirror_of_theirs(correlation: float):
    random = np.random.default_rng(5)
    for _ in range(20):
        values = autoregressive(random, correlation, 40)
        found, mirrored = trend_of(values), trend_of(-values)
        assert found is not None
        assert mirrored is not None
        assert (mirrored.low, mirrored.slope, mirrored.high) == (-found.high, -found.slope, -found.low)


@given(st.lists(st.integers(-1000, 1000), min_size=FEWEST_VALUES, max_size=60), st.floats(0.5, 4), st.integers(-5, 5))
def test_the_interval_holds_the_slope_and_follows_what_is_done_to_the_values(
    values: list[int], scale: float, slope: int
):
    found = trend_of(values)
    tilted = trend_of([scale * value + scale * slope * index for index, value in enumerate(values)])
    assert found is not None
    assert tilted is not None
    assert found.low <= found.slope <= found.high
    assert tilted.slope == pytest.approx(scale * (found.slope + slope), abs=1e-6)


def test_a_higher_confidence_gives_a_wider_interval():
    values = autoregressive(np.random.default_rng(3), 0.5)
    usual, sure = trend_of(values), trend_of(values, 0.99)
    assert usual is not None
    assert sure is not None
    assert sure.low < usual.low < usual.high < sure.high


@pytest.mark.parametrize(("correlation", "least"), [(0.0, 0.93), (0.5, 0.92), (0.9, 0.88)])
def test_intervals_hold_the_truth_although_values_depend_on_each_other(correlation: float, least: float):
    assert coverage(correlation) >= least


def test_the_correction_for_dependence_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irbench.stats.soak.inflations", lambda correlations: (1.0, 1.0))
    assert coverage(0.5) < 0.85
    assert coverage(0.9) < 0.55
