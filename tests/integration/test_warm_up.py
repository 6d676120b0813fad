"""Backends that are slow for their first calls, through the front door."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from fake_runs import cell
from front_door import Called, irbench

from irbench.store.runs import Store

pytestmark = pytest.mark.usefixtures("known_backends")

COLD_CALLS = 200
CALL_US = 5_000
"""A round of such calls is short, so that a launch makes fewer calls than the backend is cold for."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def run_cold(model: Path, *arguments: object) -> Called:
    """Compare a backend with one that takes three times as long for 200 calls, and is 1.25x faster from then on."""
    script = (f"call_us={0.8 * CALL_US}", f"cold_calls={COLD_CALLS}", f"cold_factor={3 / 0.8}")
    settings = [item for setting in script for item in ("--set", f"fake-b.{setting}")]
    return irbench(
        "run", model, "--backends", "fake-a,fake-b", "--set", f"fake-a.call_us={CALL_US}", *settings,
        "--budget", "10m", "--format", "json", *arguments,
    )  # fmt: skip


def calls_of_warm_ups(called: Called, row: str, results: Path) -> list[int]:
    """Return how many calls each launch of a row made to warm up."""
    store = Store(results)
    launches = store.launches(store.find(called.document["run_id"]))
    warm_ups = [own.warm_up for record in launches for own in record.cells if own.cell == cell(called, row)["id"]]
    return [own.calls for own in warm_ups if own is not None]


def warnings(called: Called) -> dict[str, dict[str, object]]:
    return {warning["code"]: warning["facts"] for warning in called.document["groups"][0]["warnings"]}


def test_a_backend_that_is_slow_for_200_calls_and_faster_afterwards_is_called_faster(
    model: Path, tmp_path: Path
) -> None:
    called = run_cold(model, "--results", tmp_path)
    assert called.code == 0, called.err
    speedup = cell(called, "fake-b")["speedup"]
    assert speedup["verdict"] == "faster"
    assert speedup["value"] == pytest.approx(1.25, rel=1e-3)
    assert speedup["all_blocks_value"] == pytest.approx(1.25, rel=1e-3)
    assert all(calls > COLD_CALLS for calls in calls_of_warm_ups(called, "fake-b", tmp_path))


@pytest.mark.ci
def test_a_warm_up_of_given_calls_makes_these_and_no_more(model: Path, tmp_path: Path) -> None:
    """Although more of them fit into the time of the protocol."""
    called = irbench(
        "run", model, "--backends", "fake-a", "--set", "fake-a.call_us=500", "--warmup", "10", "--quick",
        "--format", "json", "--results", tmp_path,
    )  # fmt: skip
    assert called.code == 0, called.err
    assert calls_of_warm_ups(called, "fake-a", tmp_path) == [10, 10, 10]


@pytest.mark.ci
def test_a_backend_that_runs_faster_alone_than_in_its_rounds_is_warned_of(model: Path) -> None:
    called = run_cold(model, "--warmup", "10", "--sustain", "4s")
    (row,) = warnings(called)["alone-unlike-rounds"]["rows"]
    assert row["cell"] == cell(called, "fake-b")["id"]
    assert row["faster"] > 0.5
    shown = irbench("run", model, "--backends", "fake-a", "--warmup", "2.5")
    assert (shown.code, "2.5" in shown.err) == (2, True)


@pytest.mark.ci
def test_streams_that_are_never_served_are_warned_of_and_percentiles_are_called_lower_bounds(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a", "--streams", "4", "--set", "fake-a.async=1", "--set", "fake-a.serves=2",
        "--set", "fake-a.call_us=1000", "--quick", "--format", "json",
    )  # fmt: skip
    (row,) = warnings(called)["starved-streams"]["rows"]
    assert row["asked"] == 4
    assert row["found"] == pytest.approx(2, abs=0.01)
    assert row["oldest_ms"] > 10 * cell(called, "fake-a")["latency_ms"]["p90"]
    assert "starved-streams" in [mark["code"] for mark in cell(called, "fake-a")["marks"]]


@pytest.mark.ci
def test_streams_that_are_served_alike_are_not_warned_of(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a", "--streams", "4", "--set", "fake-a.async=1",
        "--set", "fake-a.call_us=1000", "--quick", "--format", "json",
    )  # fmt: skip
    assert "starved-streams" not in warnings(called)
