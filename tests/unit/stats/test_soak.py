"""Whether memory grows: the verdict's error rates on series whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulation.soaks import BLOCKS, KINDS, LIMIT, Kind, growth_at_first, leak, pages, random_walk, series, verdicts

from irbench.core.row import Requested
from irbench.core.soak_row import SoakRow, SoakSeries
from irbench.stats import soak
from irbench.stats.soak import blocks_left_out, latency_drift, memory_trend, with_trends

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
