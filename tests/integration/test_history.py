"""``irbench history`` through the front door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compared_runs import EVEN, MACHINE, store, times
from front_door import irbench

import irbench as api
from irbench.store.folders import default_root


def a_loss(root: Path) -> None:
    """Store eight equal runs and three slower ones."""
    for factor in (*[1 + 0.001 * number for number in range(8)], 1.3, 1.31, 1.32):
        store(root, {"ort": times(factor)})


@pytest.mark.ci
def test_a_confirmed_loss_is_shown_and_fails_where_it_is_asked_for():
    a_loss(default_root())
    shown = irbench("history", "tiny")
    assert shown.code == 0
    assert "Worse since the last confirmed change: ort p50 +3" in shown.out
    assert irbench("history", "--fail-on", "p50>5%").code == 1
    assert irbench("history", "tiny", "--fail-on", "p50>50%").code == 0
    assert api.history("tiny", fail_on="p50>5%").regressed


def a_creep(root: Path) -> None:
    """Store eight runs, eight that are 5 % slower and three that are 5 % slower again."""
    for level, count in ((1.0, 8), (1.05, 8), (1.1025, 3)):
        for number in range(count):
            store(root, {"ort": times(level * (1 + 0.0005 * number))})


@pytest.mark.ci
def test_a_loss_in_two_steps_fails_though_neither_step_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")
    a_creep(default_root())
    called = irbench("history", "tiny", "--fail-on", "p50>8%")
    assert called.code == 1
    oldest = api.history("tiny").history.since_run
    said = " ".join(called.out.split())
    assert f"in total since {oldest} beyond the limit: ort p50" in said
    assert "p50>8% on ort, last confirmed change: not met" in said
    assert f"p50>8% on ort in total since {oldest}: 10.0" in said
    assert irbench("history", "tiny", "--fail-on", "p50>12%").code == 0


@pytest.mark.ci
def test_the_total_is_taken_since_a_run_that_is_named():
    root = default_root()
    for number in range(16):
        released = {"name": "v1.0"} if number == 4 else {}
        store(root, {"ort": times(1.3 if number < 4 else 1 + 0.001 * (number % 4))}, plan=released)
    assert irbench("history", "tiny", "--fail-on", "fps>20%").code == 1
    called = irbench("history", "tiny", "--since-run", "v1.0", "--fail-on", "p50>5%", "--format", "json")
    assert called.code == 0
    assert called.document["since_run"] == called.document["runs"][4]
    refused = irbench("history", "tiny", "--since-run", "v1.0", "--limit", "3")
    assert (refused.code, "--since-run" in refused.err) == (2, True)
    assert api.history("tiny", since_run="v1.0").history.since_run == called.document["since_run"]


def test_a_history_that_is_too_short_to_be_judged_is_no_pass():
    root = default_root()
    for _ in range(7):
        store(root, {"ort": EVEN})
    called = irbench("history", "tiny", "--fail-on", "p50>5%")
    assert called.code == 6
    said = " ".join(called.out.split())
    assert "not judged, so this is not a pass (exit code 6): p50>5% on ort: it takes 8 runs" in said
    store(root, {"ort": EVEN})
    assert irbench("history", "tiny", "--fail-on", "p50>5%").code == 0


def test_rows_that_the_newest_run_was_not_to_measure_are_not_judged():
    root = default_root()
    store(root, {"ort": EVEN, "tf": EVEN})
    for _ in range(8):
        store(root, {"ort": EVEN})
    assert irbench("history", "tiny", "--fail-on", "p50>5%").code == 0


@pytest.mark.ci
def test_it_is_also_json_and_markdown():
    a_loss(default_root())
    found = json.loads(irbench("history", "tiny", "--format", "json").out)
    p50 = found["rows"][0]["figures"][0]
    assert (len(found["runs"]), len(p50["points"]), p50["changes"][0]["confirmed"]) == (11, 11, True)
    assert "| ort | fp32 | p50 | 11 |" in irbench("history", "tiny", "--format", "md").out


def test_damaged_runs_are_named_and_the_others_shown():
    root = default_root()
    first, second, *_ = [store(root, {"ort": EVEN}).folder for _ in range(4)]
    (first / "run.json").write_text("{")
    next(second.glob("launch-*")).unlink()
    shown = irbench("history", "tiny")
    assert shown.code == 0
    assert "2 runs" in shown.out.splitlines()[0]
    assert shown.out.count("warning:") == 2


def test_runs_of_another_machine_are_chosen_by_its_fingerprint():
    root = default_root()
    store(root, {"ort": EVEN}, environment={**MACHINE, "cpus_allowed": 64})
    store(root, {"ort": EVEN})
    here = api.history("tiny")
    ((elsewhere, count),) = here.history.other_machines.items()
    assert count == 1
    assert api.history("tiny", machine=elsewhere[:6]).history.machine == elsewhere
    assert f"machine:{elsewhere} (1 run)" in irbench("history", "tiny").out


def test_what_is_not_stored_is_refused_with_what_is():
    store(default_root(), {"ort": EVEN})
    refused = irbench("history", "tinny")
    assert (refused.code, "Did you mean tiny" in refused.err) == (2, True)
    assert irbench("history", "tiny", "--backend", "tf").code == 2
    assert irbench("history", "tiny", "--machine", "zz").code == 2
