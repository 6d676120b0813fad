"""``irbench history`` through the front door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compared_runs import EVEN, MACHINE, store, times
from front_door import irbench

import irbench as api
from irbench.store import default_root


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
