"""Several processes that run one row side by side, through the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import models
import pytest
from fake_runs import FASTEST, cell
from front_door import Called, irbench
from processes import none_left

from irbench.runner.workers import Workers

pytestmark = [
    pytest.mark.usefixtures("known_backends"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="each instance has a processor of its own"),
]

REAL_TIME = ("--set", "fake-a.clock=real", "--set", "fake-a.call_us=2000")
"""Processes share the machine's clock only; virtual time is each one's own."""
SLOW = ("--set", "fake-a.clock=real", "--set", "fake-a.call_us=20000", "--warmup", "10")
"""The 3rd call is of the warm-up and the 20th of the rounds, however long calls take on a busy machine."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def run(model: Path, *arguments: object, backends: str = "fake-a") -> Called:
    return irbench("run", model, "--backends", backends, "--format", "json", *FASTEST, *arguments)


def rows(called: Called) -> dict[str, dict[str, Any]]:
    return {row["label"]: row for row in called.document["groups"][0]["cells"]}


@pytest.mark.ci
def test_one_and_two_instances_are_rows_of_one_table(model: Path, own_home: Path) -> None:
    called = run(model, *REAL_TIME, "--instances", "1,2", "--cpus", "0,1", "--sustain", "0.05s", "--pace", "5ms")
    assert called.code == 0, called.err
    found = rows(called)
    assert set(found) == {"fake-a", "fake-a 2x1"}
    single, several = found["fake-a"], found["fake-a 2x1"]
    assert [row["mode"] for row in (single, several)] == ["sync", "instances"]
    assert (several["requested"]["instances"], several["requested"]["threads"]) == (2, 1)
    assert (single["requested"]["instances"], single["requested"]["threads"]) == (1, 2)
    assert several["output_error"]["max_rel"] == pytest.approx(0, abs=1e-5)
    # of both processes together; the first row of a session of tests also imports onnx, to know the answers
    assert several["peak_memory_bytes"]["process"] > 1.2 * single["peak_memory_bytes"]["process"]
    assert several["sustained_fps"] > 0
    assert several["paced_ms"]["count"] == single["paced_ms"]["count"]
    assert {path.name for path in own_home.glob("results/runs/*/*/logs/*")} == {
        "fake-a-cpu-fp32-x1.log", "fake-a-cpu-fp32-x1-i2-1.log", "fake-a-cpu-fp32-x1-i2-2.log",
    }  # fmt: skip
    shown = irbench("show")
    assert "fake-a 2x1" in shown.out
    assert "instances, compared by FPS" in shown.out
    assert "threads differ" not in shown.out, "two processes of one thread use as many as one of two"


@pytest.mark.ci
@pytest.mark.parametrize(("at", "stage"), [("compile", "compile"), ("run:3", "warm-up"), ("run:20", "measure")])
def test_an_instance_that_crashes_is_a_failed_row_that_says_which(model: Path, at: str, stage: str) -> None:
    script = ("--set", "fake-a.fault=crash-on:1", "--set", f"fake-a.at={at}")
    called = run(model, *SLOW, *script, "--instances", "2", "--cpus", "0,1")
    assert called.code == 3, called.err
    failure = cell(called, "fake-a")["failure"]
    assert (failure["stage"], failure["message"]) == (stage, "It crashed with SIGSEGV (instance 2 of 2).")
    assert failure["hint"].endswith("fake-a-cpu-fp32-x1-i2-2.log")


@pytest.mark.ci
@pytest.mark.parametrize("processor", [0, 1])
def test_an_instance_that_hangs_is_ended_at_the_deadline_and_the_other_with_it(
    model: Path, processor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Workers.ask

    def ask_impatiently(self: Workers, *asked: Any, deadline_s: float | None = None) -> Any:
        return ask(self, *asked, deadline_s=2.0 if "take_round" in asked else deadline_s)

    monkeypatch.setattr(Workers, "ask", ask_impatiently)  # nobody waits long for a round, but for a start
    script = ("--set", f"fake-a.fault=hang-on:{processor}", "--set", "fake-a.at=run:20")
    called = run(model, *SLOW, *script, "--instances", "2", "--cpus", "0,1")
    assert called.code == 3, called.err
    assert (
        f"no answer within 2 s and was ended (instance {processor + 1} of 2)"
        in cell(called, "fake-a")["failure"]["message"]
    )
    assert nothing_runs()


@pytest.mark.ci
def test_wrong_outputs_of_the_second_instance_are_a_mismatch(model: Path) -> None:
    called = run(model, *REAL_TIME, "--set", "fake-a.fault=wrong-on:1", "--instances", "2", "--cpus", "0,1")
    assert called.code == 1, called.err
    assert cell(called, "fake-a")["state"] == "mismatch"


@pytest.mark.ci
def test_a_coordinator_that_is_killed_leaves_no_instance_behind(model: Path) -> None:
    command = [sys.executable, "-m", "irbench", "run", str(model), "--backends", "fake-a", *REAL_TIME]
    with subprocess.Popen(
        [*command, "--instances", "2", "--cpus", "0,1"], stderr=subprocess.PIPE, text=True
    ) as coordinator:
        assert coordinator.stderr is not None
        while "launch 1 done" not in coordinator.stderr.readline():
            assert coordinator.poll() is None
        coordinator.send_signal(signal.SIGKILL)
        coordinator.communicate()
    assert nothing_runs()


def nothing_runs() -> bool:
    own = os.environ["IRBENCH_LOCK"]
    return none_left(lambda process: process.pid != os.getpid() and process.environ().get("IRBENCH_LOCK") == own)


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (("--instances", "2", "--cpus", "0"), "--instances 2 needs as many processors, and 1 can be used.", "--cpus"),
        (("--instances", "2", "--cold"), "--cold and --instances cannot be combined", "Leave one of them out"),
        (("--pace", "10ms", "--cold"), "--cold and --pace cannot be combined", "Leave one of them out"),
        (("--instances", "0"), "'0' is not an integer of at least 1", "1,8"),
        (("--pace", "10us"), "is not a", "10ms"),
        (("--pace", "2m"), "is not a pace from 0.1ms to 60s", "10ms"),
        (("--instances", "2", "--baseline", "fake-a@instances=1"), "does not match any row", "fake-a 2x1"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(
    model: Path, arguments: tuple[str, ...], message: str, remedy: str
) -> None:
    refused = irbench("run", model, "--backends", "fake-a", *arguments)
    assert refused.code == 2
    assert message in refused.err
    assert remedy in refused.err
    assert refused.out == ""


@pytest.mark.ci
def test_a_baseline_may_be_a_number_of_instances(model: Path) -> None:
    called = run(model, *REAL_TIME, "--instances", "1,2", "--cpus", "0,1", "--baseline", "fake-a@instances=2")
    assert called.code == 0, called.err
    assert called.document["groups"][0]["baseline"] == "fake-a-cpu-fp32-x1-i2"


@pytest.mark.ci
def test_latency_at_a_pace_stands_beside_that_of_calls_back_to_back(model: Path) -> None:
    called = run(
        model,
        "--set",
        "fake-a.call_us=3000",
        "--set",
        "fake-b.call_us=30000",
        "--pace",
        "10ms",
        backends="fake-a,fake-b",
    )
    assert called.code == 0, called.err
    fast, slow = (cell(called, name) for name in ("fake-a", "fake-b"))
    assert (fast["paced_ms"]["pace"], fast["paced_ms"]["count"], fast["paced_ms"]["late"]) == (10, 100, 0)
    assert fast["paced_ms"]["p50"] == pytest.approx(3)
    assert fast["paced_ms"]["p90_since_due"] == pytest.approx(3)
    assert slow["paced_ms"]["p50"] == pytest.approx(30)
    assert slow["paced_ms"]["late"] == slow["paced_ms"]["count"] - 1
    assert slow["paced_ms"]["p50_since_due"] is None
    assert [mark["code"] for mark in slow["marks"]] == ["late-calls"]
    shown = irbench("show").out
    assert "paced p50 ms" in shown
    assert "paced: a call every 10 ms" in shown
    assert "cannot keep the pace of 10 ms" in shown
