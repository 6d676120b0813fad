"""What can go wrong with a worker, several at a time: each is a row with its reason, and the rest is measured."""

from __future__ import annotations

import os
from pathlib import Path

import models
import pytest
from fake_faults import CHATTER_BYTES, DAEMON_SLEEPS_S
from fake_runs import cell, run_all
from front_door import Called
from processes import none_left

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def failed(called: Called, letter: str) -> tuple[str, str, str]:
    """Return stage, message and hint of a failed row, which has no figures."""
    row = cell(called, f"fake-{letter}")
    assert row["state"] == "failed"
    assert row["latency_ms"] is None
    assert row["speedup"] is None
    failure = row["failure"]
    return failure["stage"], failure["message"], failure["hint"]


def test_a_crash_is_named_at_every_stage(model: Path) -> None:
    faults = {
        "b": "crash:SIGSEGV@import",
        "c": "crash:SIGABRT@compile",
        "d": "crash:SIGILL@run",
        "e": "crash:SIGBUS@run:30",
        "f": "crash:SIGFPE@run:200",
    }
    called = run_all(model, faults, "--tail", "--budget", "600s")
    assert called.code == 3, called.err
    assert cell(called, "fake-a")["latency_ms"]["p99"] == pytest.approx(20)
    stages = {letter: failed(called, letter) for letter in faults}
    assert {letter: stage for letter, (stage, _, _) in stages.items()} == {
        "b": "import", "c": "compile", "d": "compile", "e": "measure", "f": "tail",
    }  # fmt: skip
    for letter, script in faults.items():
        _, message, hint = stages[letter]
        assert script.split("@")[0].removeprefix("crash:") in message
        assert f"fake-{letter}" in hint
        assert Path(hint.rpartition(" ")[2]).is_file()


def test_lost_memory_devices_and_answers_are_told_apart(model: Path, own_home: Path) -> None:
    faults = {"b": "memory@compile", "c": "crash:SIGKILL@run:30", "d": "@run", "e": "drift", "f": "chatter@run:22"}
    called = run_all(model, faults, "--set", "fake-d.device=npu")
    assert called.code == 1, called.err
    assert cell(called, "fake-a")["state"] == "ok"

    stage, message, hint = failed(called, "b")
    assert (stage, message) == ("compile", "It ran out of memory.")
    assert "smaller batch" in hint
    stage, message, hint = failed(called, "c")
    assert (stage, message) == ("measure", "It was killed by SIGKILL.")
    assert "out of memory" in hint
    assert failed(called, "d")[:2] == ("device", "it runs on npu, not on cpu")

    drifted = cell(called, "fake-e")
    assert drifted["state"] == "mismatch"
    assert "change between calls: wrong outputs: max_rel 0.5" in drifted["failure"]["message"]
    assert drifted["output_error"]["max_rel"] == pytest.approx(0.5, rel=0.01)
    assert drifted["speedup"] is None

    # all of standard output was JSON, or the document could not have been read
    assert cell(called, "fake-f")["state"] == "ok"
    (log,) = (own_home / "results").glob("runs/*/*/logs/fake-f*.log")
    assert log.stat().st_size >= CHATTER_BYTES


def test_what_a_worker_does_to_others_stays_in_its_row(model: Path) -> None:
    faults = {
        "b": "decay",
        "c": "daemon:crash@run:30",
        "d": "daemon@run:30",
        "e": "raise@run:8",
        "f": "lack:tpu@import",
    }
    called = run_all(model, faults)
    assert called.code == 1, called.err
    assert cell(called, "fake-a")["state"] == cell(called, "fake-d")["state"] == "ok"
    decayed = cell(called, "fake-b")
    assert decayed["state"] == "mismatch"
    assert decayed["failure"]["message"].startswith(
        "its answers to the same inputs change between calls: output 0 holds NaN"
    )
    assert failed(called, "c")[:2] == ("measure", "It crashed with SIGSEGV.")
    assert failed(called, "e")[:2] == ("warm-up", "RuntimeError: the device was lost")
    assert failed(called, "f")[:2] == ("import", "ModuleNotFoundError: No module named 'tpu'")
    assert none_left(lambda process: process.cmdline() == ["sleep", str(DAEMON_SLEEPS_S)])


def test_a_worker_that_is_killed_while_it_is_frozen_is_a_failed_row_and_helpers_are_not_missed(model: Path) -> None:
    called = run_all(
        model,
        {"b": "kill-idle@run:22", "c": "@run", "d": "refuse@import"},
        *("--set", "fake-a.fault=kill-helpers"),
        *("--budget", "0.01s"),  # a single launch, in which one is killed
    )
    assert called.code == 3, called.err
    assert failed(called, "d") == ("import", "no such precision here", "ask for fp32")
    states = {name: cell(called, name)["state"] for name in ("fake-a", "fake-b", "fake-c")}
    assert sorted(states.values()) == ["failed", "ok", "ok"]
    assert states["fake-b"] == "ok"
    assert cell(called, "fake-a")["effective"]["share"] == 0.5
    (victim,) = [name for name, state in states.items() if state == "failed"]
    assert cell(called, victim)["failure"]["message"] == "It was killed by SIGKILL."


def test_a_run_in_which_all_fails_is_stored_with_its_reasons(model: Path, own_home: Path) -> None:
    called = run_all(model, {"b": "crash@compile"}, "--set", "fake-a.fault=lack:tpu", "--set", "fake-a.at=import")
    assert called.code == 3, called.err
    assert {failed(called, letter)[0] for letter in "ab"} == {"import", "compile"}
    assert called.document["groups"][0]["stopped_by"] == "failures"
    assert len(list((own_home / "results").glob("runs/*/*/run.json"))) == 1


def test_a_hang_at_any_stage_is_ended_at_the_deadline(model: Path) -> None:
    faults = {
        "b": "hang@import",
        "c": "hang:reply@compile",
        "d": "resist@run:1",
        "e": "hang:stopped@run:8",
        "f": "hang:deaf@run:30",
    }
    called = run_all(model, faults, "--deadline", "8s")
    assert called.code == 3, called.err
    assert cell(called, "fake-a")["state"] == "ok"
    stages = {letter: failed(called, letter) for letter in faults}
    assert [stage for stage, _, _ in stages.values()] == ["import", "compile", "compile", "warm-up", "measure"]
    assert stages.pop("d")[1] == "It could not be frozen and was ended."
    assert stages.pop("e")[1] == "It was stopped by a signal and was ended."
    for _, message, hint in stages.values():
        assert "no answer within" in message
        assert "--deadline 16s" in hint
    own = os.environ["IRBENCH_LOCK"]
    assert none_left(lambda process: process.pid != os.getpid() and process.environ().get("IRBENCH_LOCK") == own)
