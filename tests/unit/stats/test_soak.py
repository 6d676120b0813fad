"""Whether memory grows: the verdict's error rates on series whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from simulation.soaks import BLOCKS, KINDS, LIMIT, Kind, growth_at_first, leak, pages, random_walk, series, verdicts

from irbench.core.row import Requested
from irbench.core.soak_row import SoakRow, SoakSeries
from irbench.stats.run_modes import soak
from irbench.stats.run_modes.soak import (
    FEWEST_VALUES,
    blocks_left_out,
    latency_drift,
    memory_trend,
    trend_of,
    with_trends,
)

SHAPES = [kind for kind in KINDS.values() if kind is not random_walk]


@pytest.mark.parametrize("shape", SHAPES)
def test_what_does_not_leak_is_not_said_to_grow(shape: Kind):
    assert verdicts(shape)["grows"] <= 0.05


@pytest.mark.parametrize("shape", SHAPES)
def test_a_leak_that_matters_is_not_called_steady(shape: Kind):
    assert verdicts(shape, LIMIT)["steady"] <= 0.05
    assert verdicts(shape, 3 * LIMIT)["steady"] == 0


@pytest.mark.parametrize("shape", [pages, growth_at_first])
def test_a_leak_that_matters_is_found_and_its_absence_too(shape: Kind):
    assert verdicts(shape, 3 * LIMIT)["grows"] >= 0.95
    assert verdicts(shape)["steady"] >= 0.9


@pytest.mark.parametrize("bytes_per_call", [0.0, 20.0, 1000.0, 5000.0])
def test_the_interval_holds_the_slope(bytes_per_call: float):
    found = memory_trend(series(leak(bytes_per_call) + pages(np.random.default_rng(1))), LIMIT, 0.95)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= bytes_per_call <= found.high
    assert found.high - found.low < 10


def test_without_the_rule_of_parts_random_walks_would_be_called_growth(monkeypatch: pytest.MonkeyPatch):
    assert verdicts(random_walk)["grows"] <= 0.05
    monkeypatch.setattr(soak, "rises_throughout", lambda sizes, limit_per_block: True)
    assert verdicts(random_walk)["grows"] > 0.08


def test_without_leaving_blocks_out_growth_at_first_would_blur_the_slope(monkeypatch: pytest.MonkeyPatch):
    usual = verdicts(growth_at_first)["steady"]
    monkeypatch.setattr(soak, "blocks_left_out", lambda blocks: 0)
    assert verdicts(growth_at_first)["steady"] < usual


def test_too_few_blocks_decide_nothing():
    short = series(leak(10**6)[:20])
    found = memory_trend(short, LIMIT, 0.95)
    assert found is not None
    assert (found.verdict, found.bytes_per_call, found.blocks) == ("undecided", None, 20 - blocks_left_out(20))
    assert memory_trend(SoakSeries(), LIMIT, 0.95) is None


def test_calls_that_become_slower_drift():
    medians = 10**6 * np.exp(np.linspace(0, 0.1, BLOCKS))
    found = latency_drift(series(np.zeros(BLOCKS), medians), 0.95)
    counted = BLOCKS - blocks_left_out(BLOCKS)
    assert found is not None
    assert found.value == pytest.approx(np.expm1(0.1 * (counted - 1) / (BLOCKS - 1)), rel=1e-3)
    assert found.low <= found.value <= found.high


def test_a_row_has_its_figures_from_its_series_alone():
    row = SoakRow(
        id="ort",
        label="ort",
        artifact="onnx",
        backend="ort",
        device="cpu",
        batch=1,
        io="copy",
        requested=Requested(1, 1, "fp32"),
        effective={},
        state="ok",
    )
    assert with_trends(row, LIMIT, 0.95) == row
    found = with_trends(replace(row, series=series(leak(2 * LIMIT))), LIMIT, 0.95)
    assert found.memory is not None
    assert (found.calls, found.seconds, found.p50_ms, found.memory.verdict) == (12_000, 12.0, 1.0, "grows")


LENGTH = 100


def autoregressive(random: np.random.Generator, correlation: float, count: int = LENGTH) -> NDArray[np.float64]:
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
    monkeypatch.setattr("irbench.stats.run_modes.soak.inflations", lambda correlations: (1.0, 1.0))
    assert coverage(0.5) < 0.85
    assert coverage(0.9) < 0.55
