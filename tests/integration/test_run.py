"""``irbench run`` through its front door, with backends whose speed and faults are scripted."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from fake_backend import OPENING_MS
from fake_faults import GROWTH_BYTES
from fake_runs import ENOUGH, FASTEST, cell, run
from front_door import Called, irbench, irbench_process

from irbench.store.runs import Store

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture(scope="module")
def healthy(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """One short run of two healthy cells, the second of which takes twice the time, and where it was stored."""
    results = tmp_path_factory.mktemp("results")
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick", *ENOUGH, "--results", results,
        "--set", "fake-b.call_us=600",
    )  # fmt: skip
    return called, results


@pytest.fixture(scope="module")
def batches(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """One launch of two healthy cells for each of two batches, and where they were stored."""
    results = tmp_path_factory.mktemp("results")
    return run(model, "--batch", "1,3", "--apart", "--results", results), results


def test_a_backend_that_takes_twice_the_time_is_found_to_take_twice_the_time(healthy: tuple[Called, Path]) -> None:
    called, _ = healthy
    assert called.code == 0, called.err
    speedup = cell(called, "fake-b")["speedup"]
    assert speedup["value"] == pytest.approx(0.5, rel=1e-4)
    assert speedup["verdict"] == "slower"
    assert cell(called, "fake-a")["speedup"] is None
    assert called.document["groups"][0]["baseline"] == cell(called, "fake-a")["id"]


def test_every_figure_of_a_healthy_row_is_there(healthy: tuple[Called, Path]) -> None:
    found = cell(healthy[0], "fake-a")
    assert found["state"] == "ok"
    assert found["failure"] is None
    assert found["latency_ms"]["p50"] == pytest.approx(0.3, rel=1e-4)
    assert found["latency_ms"]["p50"] <= found["latency_ms"]["p90"]
    assert found["latency_ms"]["p99"] is None
    assert found["fps"] <= 1000 / found["latency_ms"]["min"] * (1 + 1e-9)
    assert found["effective"]["precision"] == "fp32"
    assert found["output_error"]["max_rel"] == pytest.approx(0, abs=1e-6)
    assert found["phases_ms"]["ready"] >= found["phases_ms"]["compile"] >= OPENING_MS
    assert found["peak_memory_bytes"]["process"] > 1_000_000


def test_the_run_is_stored_with_every_raw_sample(healthy: tuple[Called, Path]) -> None:
    called, results = healthy
    store = Store(results)
    launches = store.launches(store.find(called.document["run_id"]))
    assert len(launches) == called.document["groups"][0]["launches"] == 3
    count = sum(
        round_.latency_ns.size
        for record in launches
        for launch in record.cells
        if launch.cell == cell(called, "fake-a")["id"]
        for round_ in launch.rounds
    )
    assert count >= cell(called, "fake-a")["latency_ms"]["count"] > 0


def test_show_prints_the_stored_run_again(healthy: tuple[Called, Path]) -> None:
    measured, results = healthy
    shown = irbench("show", measured.document["run_id"][:20], "--results", results, "--format", "json")
    assert shown.document == measured.document


@pytest.mark.ci
def test_different_precisions_are_not_compared_unless_allowed(model: Path) -> None:
    different = ("--set", "fake-b.precision=bf16")
    assert cell(run(model, *different), "fake-b")["speedup"] is None
    mixed = cell(run(model, *different, "--allow-mixed"), "fake-b")["speedup"]
    assert mixed["value"] > 0
    assert mixed["reason"]["facts"] == {"precision": "bf16", "baseline_precision": "fp32"}


@pytest.mark.ci
@pytest.mark.parametrize("queued", ["0", "1"])
def test_streams_are_compared_by_time_per_completion(model: Path, queued: str) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a", "--streams", "1,2", "--format", "json", *FASTEST,
        "--set", f"fake-a.async={queued}", "--set", "fake-a.call_us=4000",
    )  # fmt: skip
    single, two = sorted(called.document["groups"][0]["cells"], key=lambda row: row["requested"]["streams"])
    assert (single["mode"], two["mode"]) == ("sync", "streams")
    assert two["label"] == "fake-a x2"
    assert two["fps"] / single["fps"] == pytest.approx(2, rel=1e-3)
    assert two["latency_ms"]["p50"] == pytest.approx(4, rel=1e-3)


@pytest.mark.ci
def test_a_tail_is_read_from_a_thousand_uninterrupted_calls(model: Path) -> None:
    asked = ("--backends", "fake-a", "--quick", "--tail", "--set", "fake-a.call_us=100", "--format", "json")
    called = irbench("run", model, *asked)
    assert called.code == 0, called.err
    assert cell(called, "fake-a")["latency_ms"]["p99"] == pytest.approx(0.1, rel=1e-3)


@pytest.mark.ci
def test_each_cell_also_runs_alone_in_every_launch_where_that_is_asked_for(
    model: Path, healthy: tuple[Called, Path]
) -> None:
    called = run(model, "--sustain", "1s")
    assert called.code == 0, called.err
    assert cell(called, "fake-a")["sustained_fps"] == pytest.approx(1e9 / 300_000, rel=1e-3)
    assert cell(healthy[0], "fake-a")["sustained_fps"] is None


@pytest.mark.ci
def test_where_processes_cannot_be_frozen_the_table_says_so(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_NO_FREEZE", "1")
    called = irbench_process("run", model, "--backends", "fake-a,fake-b", "--format", "json", *FASTEST)
    assert cell(called, "fake-b")["speedup"]["value"] == pytest.approx(1, rel=1e-4)
    assert "not-frozen" in {item["code"] for item in called.document["groups"][0]["warnings"]}


@pytest.mark.ci
def test_the_resident_peak_covers_the_whole_launch(model: Path) -> None:
    called = run(model, "--set", "fake-b.call_us=20000", "--set", "fake-b.fault=grow", "--set", "fake-b.at=run:22")
    peaks = cell(called, "fake-b")["peak_memory_bytes"]
    assert peaks["process"] == peaks["run"]
    assert peaks["run"] - peaks["warm_up"] > GROWTH_BYTES // 2


def test_each_batch_makes_a_table_where_that_is_asked_for(batches: tuple[Called, Path]) -> None:
    called, _ = batches
    assert [group["batch"] for group in called.document["groups"]] == [1, 3]
    assert called.document["groups"][1]["shapes"]["pixels"][0] == 3


@pytest.mark.ci
def test_a_backend_that_cannot_read_the_model_says_so_in_its_row(model: Path) -> None:
    called = irbench("run", model, "--backends", "tf,fake-a", "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    row = cell(called, "tf")
    assert row["state"] == "not-applicable"
    assert "tf-graph" in row["failure"]["message"]


def test_a_dry_run_measures_nothing(model: Path, own_home: Path) -> None:
    called = irbench("run", model, "--backends", "fake-a", "--dry-run")
    assert called.code == 0
    assert "fake-a" in called.out
    assert not (own_home / "results").exists()


def test_the_table_says_what_was_compared_and_that_it_is_a_preview(batches: tuple[Called, Path]) -> None:
    shown = irbench("show", "--results", batches[1])
    assert "fake-a" in shown.out
    assert "1 baseline" in shown.out
    assert "preview" in shown.out
    assert all(len(line) <= 100 or line.startswith("irbench show ") for line in shown.out.splitlines())
