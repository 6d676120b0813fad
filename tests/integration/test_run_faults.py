"""``irbench run`` through its front door where something goes wrong: cells that fail, interrupts, wrong calls."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import models
import psutil
import pytest
from fake_runs import ENOUGH, cell, run
from front_door import irbench, irbench_here, irbench_process

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.mark.ci
def test_a_cell_that_hangs_is_ended_at_the_deadline_which_its_row_says_how_to_raise(model: Path) -> None:
    called = run(model, "--deadline", "6s", "--set", "fake-b.fault=hang")
    assert called.code == 3, called.err
    failure = cell(called, "fake-b")["failure"]
    assert failure["stage"] == "warm-up"
    assert "no answer within 7 s" in failure["message"]
    assert "--deadline 12s" in failure["hint"]
    assert cell(called, "fake-a")["state"] == "ok"


@pytest.mark.ci
def test_a_session_that_never_closes_loses_nothing(model: Path) -> None:
    called = run(model, "--set", "fake-b.fault=hang:deaf", "--set", "fake-b.at=close")
    assert called.code == 0, called.err
    assert cell(called, "fake-b")["state"] == "ok"


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a wait take a small share of a budget, so that no test waits for half of one."""
    monkeypatch.setattr("irbench.spec.timing.LEAST_WAIT_S", 1.0)
    monkeypatch.setattr("irbench.spec.timing.SHARE_OF_BUDGET", 0.01)


@pytest.mark.ci
@pytest.mark.usefixtures("short_waits")
@pytest.mark.parametrize("fault", ["hang@import", "hang:deaf@compile", "hang@run:8"])
def test_the_budget_ends_a_hang_in_time_for_the_other_rows(model: Path, fault: str) -> None:
    fault, _, stage = fault.partition("@")
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick", "--budget", "10m",
        "--set", f"fake-b.fault={fault}", "--set", f"fake-b.at={stage}",
    )  # fmt: skip
    assert called.code == 3, called.err
    failure = cell(called, "fake-b")["failure"]
    assert "no answer within" in failure["message"]
    assert 1 <= failure["budget_allowed_s"] <= 6  # a hundredth of what was left of it
    assert failure["hint"] is None
    assert called.document["groups"][0]["launches"] == 3  # as many as without the row that hangs


@pytest.mark.ci
@pytest.mark.usefixtures("short_waits")
def test_a_deadline_that_was_asked_for_is_obeyed_whatever_the_budget(model: Path) -> None:
    called = run(model, "--deadline", "6s", "--set", "fake-b.fault=hang")
    failure = cell(called, "fake-b")["failure"]
    assert failure["budget_allowed_s"] is None
    assert "--deadline 12s" in failure["hint"]


@pytest.mark.ci
@pytest.mark.usefixtures("short_waits")
def test_the_budget_also_ends_a_hang_of_a_row_that_is_launched_alone(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--cold", "--quick", "--budget", "6s",
        "--set", "fake-b.fault=hang", "--set", "fake-b.at=compile",
    )  # fmt: skip
    assert called.code == 3, called.err
    assert "The budget allowed it" in called.out


@pytest.mark.ci
def test_a_cell_that_fails_when_it_runs_alone_is_told_with_its_reason(model: Path) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--budget", "0.01s", "--sustain", "3s",
        "--set", "fake-b.call_us=20000", "--set", "fake-b.fault=raise", "--set", "fake-b.at=run:75",
    )  # fmt: skip
    assert called.code == 3, called.err
    assert cell(called, "fake-b")["failure"]["stage"] == "sustained run"
    assert cell(called, "fake-a")["sustained_fps"] > 0


@pytest.mark.ci
def test_wrong_outputs_are_never_given_a_speedup(model: Path) -> None:
    called = run(model, "--set", "fake-b.fault=wrong")
    assert called.code == 1, called.err
    wrong = cell(called, "fake-b")
    assert wrong["state"] == "mismatch"
    assert wrong["speedup"] is None
    assert wrong["output_error"]["max_rel"] == pytest.approx(0.5, rel=0.01)


@pytest.mark.ci
def test_a_failed_baseline_is_replaced_and_the_table_says_so(model: Path) -> None:
    called = run(model, "--set", "fake-a.fault=crash", "--set", "fake-a.at=compile")
    assert called.document["groups"][0]["baseline"] == cell(called, "fake-b")["id"]
    assert "baseline-replaced" in {item["code"] for item in called.document["groups"][0]["warnings"]}


@pytest.mark.ci
def test_an_interrupt_keeps_the_finished_launches(model: Path) -> None:
    called = irbench_process(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick", *ENOUGH,
        "--set", "fake-b.fault=interrupt", "--set", "fake-b.at=relaunch",
    )  # fmt: skip
    assert called.code == 130, called.err
    (group,) = called.document["groups"]
    assert group["stopped_by"] == "interrupt"
    assert group["launches"] == 1
    assert cell(called, "fake-a")["latency_ms"]["count"] > 0


@pytest.mark.ci
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
        (("--backends", "fake-a", "--quick", "--thorough"), "cannot be combined", "Leave one", 2),
        (("--backends", "fake-a", "--cpus", "4096"), "4096", "Available", 2),
        (("--backends", "fake-a", "--precision", "fp12"), "fp12", "fp32", 2),
        (("--backends", "fake-a", "--shape", "nobody=1x2"), "nobody", "pixels", 2),
        (("--backends", "fake-a", "--shape", "pixels=1x2"), "2 axes", "one size", 2),
        (("--backends", "fake-a", "--set", "fake-b.call_us=1"), "not part of the run", "fake-a", 2),
        (("--backends", "fake-a", "-o", "/nowhere/file"), "/nowhere", "mkdir", 2),
    ],
)
def test_a_wrong_call_is_one_line_and_its_remedy(
    model: Path, own_home: Path, arguments: tuple[str, ...], said: str, hint: str, code: int
) -> None:
    called = irbench_here("run", model, *arguments)
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
