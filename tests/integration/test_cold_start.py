"""``irbench run --cold`` through its front door, with backends whose faults are scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import models
import numpy as np
import pytest
from front_door import Called, irbench, irbench_process

from irbench.core.cold_row import COLD_PHASES

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def cold(model: Path, backends: str, *arguments: object) -> Called:
    """Measure cold starts in a single round."""
    budget = ("--budget", "0.01s")
    return irbench("run", model, "--backends", backends, "--cold", "--format", "json", *budget, *arguments)


@pytest.fixture(scope="module")
def measured(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    results = tmp_path_factory.mktemp("results")
    return cold(model, "fake-a,fake-b", "--results", results), results


def rows(called: Called, backend: str) -> dict[str, dict[str, Any]]:
    return {row["cache"]: row for row in called.document["cold_starts"][0]["rows"] if row["backend"] == backend}


def test_every_row_is_launched_with_a_cold_and_with_a_warm_cache(measured: tuple[Called, Path]) -> None:
    called, _ = measured
    assert called.code == 0, called.err
    assert called.document["groups"] == []
    (table,) = called.document["cold_starts"]
    assert (table["rounds"], table["preview"], table["stopped_by"]) == (1, True, "budget")
    for backend in ("fake-a", "fake-b"):
        assert set(rows(called, backend)) == {"cold", "warm"}
        for row in rows(called, backend).values():
            assert row["state"] == "ok"
            assert len(row["launches"]) == 1


def test_the_time_to_the_first_output_is_the_sum_of_its_phases(measured: tuple[Called, Path]) -> None:
    (launch,) = rows(measured[0], "fake-a")["warm"]["launches"]
    phases = launch["phases_ns"]
    assert set(phases) == set(COLD_PHASES)
    assert phases["start"] > 0
    ready_ms = rows(measured[0], "fake-a")["warm"]["ready_ms"]["value"]
    assert ready_ms == pytest.approx(sum(phases.values()) / 1e6)


def test_a_warm_launch_finds_its_files_in_memory_and_a_cold_one_less_of_them(measured: tuple[Called, Path]) -> None:
    found = rows(measured[0], "fake-a")
    warm, cold = found["warm"]["resident_share"], found["cold"]["resident_share"]
    if warm is None or cold is None:
        pytest.skip("the files belong to another user")
    assert warm == pytest.approx(1, abs=0.01)
    assert cold <= warm
    assert found["cold"]["file_bytes"] > 1_000_000


def test_only_rows_with_caches_in_the_same_state_are_compared(measured: tuple[Called, Path]) -> None:
    for row in rows(measured[0], "fake-b").values():
        assert row["speedup"]["verdict"] == "preview"
    assert all(row["speedup"] is None for row in rows(measured[0], "fake-a").values())


def test_show_and_results_know_cold_starts(measured: tuple[Called, Path]) -> None:
    called, results = measured
    run_id = called.document["run_id"]
    assert irbench("show", run_id, "--results", results, "--format", "json").document == called.document
    table = irbench("show", run_id, "--results", results).out
    assert "fake-a, cold cache" in table
    assert "fake-b, warm cache" in table
    assert "cold start: fake-" in irbench("results", "--results", results).out
    assert "fake-a, cold cache" in irbench("show", run_id, "--results", results, "--format", "md").out
    header, *lines = irbench("show", run_id, "--results", results, "--format", "csv").out.splitlines()
    assert {"cache", "ready_ms", "import_ms"} <= set(header.split(","))
    assert len(lines) == 4


@pytest.mark.slow
def test_a_row_that_fails_says_why_once_and_the_other_is_measured(model: Path) -> None:
    called = cold(model, "fake-a,fake-b", "--set", "fake-b.fault=crash", "--set", "fake-b.at=compile")
    assert called.code == 3
    assert {row["state"] for row in rows(called, "fake-b").values()} == {"failed"}
    assert {row["state"] for row in rows(called, "fake-a").values()} == {"ok"}
    shown = irbench("show").out
    assert shown.count("SIGSEGV") == 1


def test_wrong_outputs_are_not_measured(model: Path) -> None:
    called = cold(model, "fake-a", "--set", "fake-a.fault=wrong")
    assert called.code == 1
    assert {row["state"] for row in rows(called, "fake-a").values()} == {"mismatch"}


@pytest.mark.slow
def test_an_interrupt_keeps_the_launches_before_it(model: Path) -> None:
    called = irbench_process(
        "run", model, "--backends", "fake-a", "--cold", "--format", "json",
        "--set", "fake-a.fault=interrupt", "--set", "fake-a.at=relaunch",
    )  # fmt: skip
    assert called.code == 130, called.err
    assert called.document["cold_starts"][0]["stopped_by"] == "interrupt"
    assert not called.document["complete"]


@pytest.mark.ci
def test_neither_cold_nor_warm_launches_touch_the_users_cache_of_compiled_code(model: Path, tmp_path: Path) -> None:
    called = cold(model, "fake-a", "--set", f"fake-a.cache={tmp_path}")
    assert called.code == 0, called.err
    assert not list(tmp_path.glob("compiled"))


@pytest.mark.ci
def test_a_start_has_one_sample_of_data(model: Path, tmp_path: Path) -> None:
    for name, samples in (("several", 3), ("one", 1)):
        (tmp_path / name).mkdir()
        for number in range(samples):
            np.savez(tmp_path / name / f"{number}.npz", pixels=np.zeros((1, 3, 8, 8), np.float32))
    refused = cold(model, "fake-a", "--data", tmp_path / "several", "--results", tmp_path / "runs")
    assert refused.code == 2
    assert "--cold and --data with 3 samples cannot be combined" in refused.err
    assert not (tmp_path / "runs").exists()
    measured = cold(model, "fake-a", "--data", tmp_path / "one")
    (table,) = measured.document["cold_starts"]
    assert (table["given_inputs"]["samples"], table["given_inputs"]["source"]) == (1, str(tmp_path / "one"))


@pytest.mark.parametrize("option", [("--tail",), ("--sustain", "3s")])
def test_what_is_no_part_of_a_start_is_refused(model: Path, option: tuple[str, ...]) -> None:
    called = irbench("run", model, "--cold", *option)
    assert called.code == 2
    assert f"--cold and {option[0]} cannot be combined" in called.err
