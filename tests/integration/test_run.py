"""``irbench run`` through its front door, with backends whose speed and faults are scripted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import models
import psutil
import pytest
from front_door import Called, irbench

from irbench.store import Store

FASTEST = ("--quick", "--budget", "1s")
"""The budget is used up by the first launch, which is enough where a test is not about intervals."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def run(model: Path, *arguments: object) -> Called:
    return irbench("run", model, "--backends", "fake-a,fake-b", "--format", "json", *FASTEST, *arguments)


@pytest.fixture(scope="module")
def healthy(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """One preview of two healthy cells, the second of which takes twice the time, and where it was stored."""
    results = tmp_path_factory.mktemp("results")
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick", "--results", results,
        "--set", "fake-b.call_us=600",
    )  # fmt: skip
    return called, results


def cell(called: Called, backend: str) -> dict[str, Any]:
    (found,) = [one for one in called.document["groups"][0]["cells"] if one["backend"] == backend]
    return found


def test_a_backend_that_takes_twice_the_time_is_found_to_take_twice_the_time(healthy: tuple[Called, Path]) -> None:
    called, _ = healthy
    assert called.code == 0, called.err
    speedup = cell(called, "fake-b")["speedup"]
    assert speedup["value"] == pytest.approx(0.5, rel=1e-4)
    assert speedup["verdict"] == "preview"
    assert cell(called, "fake-a")["speedup"] is None
    assert called.document["groups"][0]["baseline"] == cell(called, "fake-a")["id"]


def test_every_figure_of_a_healthy_row_is_there(healthy: tuple[Called, Path]) -> None:
    found = cell(healthy[0], "fake-a")
    assert found["state"] == "ok"
    assert found["failure"] is None
    assert found["latency_ms"]["p50"] == pytest.approx(0.3, rel=1e-4)
    assert found["latency_ms"]["p50"] <= found["latency_ms"]["p90"]
    assert found["latency_ms"]["p99"] is None
    assert found["fps"] <= 1000 / found["latency_ms"]["min"]
    assert found["effective"]["precision"] == "fp32"
    assert found["output_error"]["max_rel"] == pytest.approx(0, abs=1e-6)
    assert found["phases_ms"]["ready"] >= found["phases_ms"]["compile"]
    assert found["peak_memory_bytes"]["process"] > 1_000_000


def test_the_run_is_stored_with_every_raw_sample(healthy: tuple[Called, Path]) -> None:
    called, results = healthy
    store = Store(results)
    launches = store.launches(store.find(called.document["run_id"]))
    assert len(launches) == called.document["groups"][0]["launches"] == 3
    count = sum(
        one.latency_ns.size
        for record in launches
        for launch in record.cells
        if launch.cell == cell(called, "fake-a")["id"]
        for one in launch.rounds
    )
    assert count >= cell(called, "fake-a")["latency_ms"]["count"] > 0


def test_show_prints_the_stored_run_again(healthy: tuple[Called, Path]) -> None:
    measured, results = healthy
    shown = irbench("show", measured.document["run_id"][:20], "--results", results, "--format", "json")
    assert shown.document == measured.document


@pytest.mark.parametrize(
    ("fault", "at", "stage", "said"),
    [
        ("crash", "compile", "compile", "crashed with SIGSEGV"),
        ("raise", "run", "compile", "the device was lost"),
        ("raise", "run:20", "warm-up", "the device was lost"),
        ("refuse", "import", "import", "no such precision here"),
    ],
)
def test_a_cell_that_fails_is_a_row_with_its_reason_and_the_others_go_on(
    model: Path, fault: str, at: str, stage: str, said: str
) -> None:
    called = run(model, "--set", f"fake-b.fault={fault}", "--set", f"fake-b.at={at}")
    assert called.code == 3, called.err
    failed = cell(called, "fake-b")
    assert failed["state"] == "failed"
    assert failed["failure"]["stage"] == stage
    assert said in failed["failure"]["message"]
    assert failed["latency_ms"] is None
    assert cell(called, "fake-a")["state"] == "ok"


def test_wrong_outputs_are_never_given_a_speedup(model: Path) -> None:
    called = run(model, "--set", "fake-b.fault=wrong")
    assert called.code == 1, called.err
    wrong = cell(called, "fake-b")
    assert wrong["state"] == "mismatch"
    assert wrong["speedup"] is None
    assert wrong["output_error"]["max_rel"] == pytest.approx(0.5, rel=0.01)


def test_a_failed_baseline_is_replaced_and_the_table_says_so(model: Path) -> None:
    called = run(model, "--set", "fake-a.fault=crash", "--set", "fake-a.at=compile")
    assert called.document["groups"][0]["baseline"] == cell(called, "fake-b")["id"]
    assert "baseline" in " ".join(one["message"] for one in called.document["groups"][0]["warnings"]).lower()


def test_different_precisions_are_not_compared_unless_allowed(model: Path) -> None:
    different = ("--set", "fake-b.precision=bf16")
    assert cell(run(model, *different), "fake-b")["speedup"] is None
    mixed = cell(run(model, *different, "--allow-mixed"), "fake-b")["speedup"]
    assert mixed["value"] > 0
    assert "bf16" in mixed["reason"]


@pytest.mark.parametrize("queued", ["0", "1"])
def test_streams_are_compared_by_time_per_completion(model: Path, queued: str) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a", "--streams", "1,2", "--format", "json", *FASTEST,
        "--set", f"fake-a.async={queued}", "--set", "fake-a.call_us=4000",
    )  # fmt: skip
    one, two = sorted(called.document["groups"][0]["cells"], key=lambda row: row["requested"]["streams"])
    assert (one["mode"], two["mode"]) == ("sync", "streams")
    assert two["label"] == "fake-a x2"
    if queued == "1":
        assert two["fps"] / one["fps"] == pytest.approx(2, rel=1e-3)


def test_each_batch_makes_a_table(model: Path) -> None:
    called = run(model, "--batch", "1,3")
    assert [group["batch"] for group in called.document["groups"]] == [1, 3]
    assert called.document["groups"][1]["shapes"]["pixels"][0] == 3


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


def test_the_table_says_what_was_compared_and_that_it_is_a_preview(model: Path) -> None:
    called = irbench("run", model, "--backends", "fake-a,fake-b", *FASTEST)
    assert "fake-a" in called.out
    assert "1 baseline" in called.out
    assert "preview" in called.out
    assert all(len(line) <= 100 for line in called.out.splitlines())


def test_an_interrupt_keeps_the_finished_launches(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick",
        "--set", "fake-b.fault=interrupt", "--set", "fake-b.at=relaunch",
    )  # fmt: skip
    assert called.code == 130, called.err
    (group,) = called.document["groups"]
    assert group["stopped_by"] == "interrupt"
    assert group["launches"] == 1
    assert cell(called, "fake-a")["latency_ms"]["count"] > 0


def test_sigterm_ends_a_run_and_leaves_no_process_behind(model: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "irbench", "run", model, "--backends", "fake-a,fake-b", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    coordinator = psutil.Process(started.pid)
    while len(children := coordinator.children(recursive=True)) < 4:
        assert started.poll() is None
    started.send_signal(signal.SIGTERM)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert '"interrupted"' in out or '"interrupt"' in out
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


@pytest.mark.parametrize(
    ("arguments", "said", "hint", "code"),
    [
        (("--backends", "fake-z"), "fake-z", "fake-", 2),
        (("--backends", "fake-absent"), "fake-absent", "pip install irbench-fake", 5),
        (("--backends", "fake-a:tpu"), "tpu", "cpu", 2),
        (("--backends", "fake-a", "--batch", "0"), "'0'", "--help", 2),
        (("--backends", "fake-a", "--threads", "many"), "many", "--help", 2),
        (("--backends", "fake-a", "--baseline", "tf"), "--baseline tf", "fake-a", 2),
        (("--backends", "fake-a", "--quick", "--thorough"), "contradict", "Leave one", 2),
        (("--backends", "fake-a", "--cpus", "4096"), "4096", "We may use", 2),
        (("--backends", "fake-a", "--precision", "fp12"), "fp12", "fp32", 2),
        (("--backends", "fake-a", "--shape", "nobody=1x2"), "nobody", "pixels", 2),
        (("--backends", "fake-a", "--shape", "pixels=1x2"), "2 axes", "one size", 2),
        (("--backends", "fake-a", "--set", "fake-b.call_us=1"), "takes no part", "fake-a", 2),
        (("--backends", "fake-a", "-o", "/nowhere/file"), "/nowhere", "mkdir", 2),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(
    model: Path, own_home: Path, arguments: tuple[str, ...], said: str, hint: str, code: int
) -> None:
    called = irbench("run", model, *arguments)
    assert called.code == code, called.err
    assert called.out == ""
    problem, remedy = called.err.strip().splitlines()
    assert problem.startswith("error: ")
    assert said in problem
    assert remedy.startswith("hint: ")
    assert hint in remedy
    assert not (own_home / "results").exists()


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a model")
    called = irbench("run", tmp_path / "broken.onnx", "--backends", "fake-a")
    assert called.code == 2
    assert "broken.onnx" in called.err
