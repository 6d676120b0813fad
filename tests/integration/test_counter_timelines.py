"""``irbench run --counters --timeline`` through its front door, with scripted backends and a scripted perf."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import models
import pytest
from counting_calls import count, figures, install_perf, interrupt
from fake_runs import ENOUGH
from front_door import irbench

from irbench.features.counters import run as counted

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what installs a scripted perf."""
    return partial(install_perf, tmp_path, monkeypatch)


@pytest.mark.ci
def test_a_timeline_is_of_a_launch_of_its_own(model: Path, perf: Any):
    calls = perf()
    called = count(model, "software", "--timeline", "100ms", *ENOUGH)
    (row,) = called.document["counters"][0]["rows"]
    assert [phase["phase"] for phase in row["timeline"]] == ["import", "compile", "warm_up", "inference"]
    inference = row["timeline"][-1]
    assert inference["step_s"] == pytest.approx([0.100123, 0.100123])
    assert inference["counts"]["task-clock"] == [20.0, 20.0]
    assert sum("-I 100" in line for line in calls.read_text().splitlines()) == 4


@pytest.mark.ci
def test_a_timeline_that_fails_has_its_reason_and_its_row_keeps_the_counts(model: Path, perf: Any):
    perf(dies_in_steps="Problems finding threads of monitor")
    called = count(model, "software", "--timeline", "100ms", *ENOUGH)
    assert called.code == 0, called.err
    (row,) = called.document["counters"][0]["rows"]
    assert row["state"] == "ok"
    assert row["failure"] is None
    assert figures(called)["inference", "minor-faults"]["value"] is not None
    assert "Problems finding threads" in row["timeline_failure"]["message"]
    assert row["timeline"] == []


@pytest.mark.ci
def test_timelines_do_not_exceed_the_budget(model: Path, perf: Any):
    calls = perf()
    called = count(model, "software", "--timeline", "100ms")
    (table,) = called.document["counters"]
    assert table["timelines_stopped_by"] == "budget"
    assert table["rows"][0]["state"] == "ok"
    assert "-I 100" not in calls.read_text()


@pytest.mark.ci
def test_a_run_that_is_interrupted_in_its_last_timeline_is_complete(
    model: Path, perf: Any, monkeypatch: pytest.MonkeyPatch
):
    perf()
    monkeypatch.setattr(counted, "timeline_of_cell", interrupt)
    called = count(model, "software", "--timeline", "100ms", *ENOUGH)
    assert called.code == 0, called.err
    assert called.document["complete"]
    (table,) = called.document["counters"]
    assert (table["stopped_by"], table["timelines_stopped_by"]) == ("launches", "interrupt")
    assert table["rows"][0]["state"] == "ok"


@pytest.mark.ci
def test_an_interrupted_timeline_of_an_earlier_table_ends_the_run_and_keeps_the_counts(
    model: Path, perf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    perf()
    results = ("--results", tmp_path / "results")
    asked = ("--timeline", "100ms", "--batch", "1,2", "--apart", *ENOUGH)
    with monkeypatch.context() as patch:
        patch.setattr(counted, "timeline_of_cell", interrupt)
        called = count(model, "software", *asked, *results)
    assert called.code == 130
    assert not called.document["complete"]
    (first,) = called.document["counters"]
    assert (first["stopped_by"], first["timelines_stopped_by"]) == ("launches", "interrupt")
    resumed = irbench("run", "--resume", *results, "--format", "json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["counters"][0] == first
    assert resumed.document["counters"][1]["rows"][0]["timeline"]


@pytest.mark.ci
def test_a_raw_event_and_one_with_a_name_of_its_own_are_counted_in_user_space_too(model: Path, perf: Any):
    perf(events={"cpu/event=0xc0/": 7, "foo": 8}, user_only=True)
    called = count(model, "cpu/event=0xc0/,cpu/event=0x3c,name=foo/", "--timeline", "100ms", *ENOUGH)
    found = figures(called)
    assert found["import", "cpu/event=0xc0/"]["value"] == 7
    assert found["import", "cpu/event=0x3c,name=foo/"]["value"] == 8
    (row,) = called.document["counters"][0]["rows"]
    assert row["timeline"][-1]["counts"]["cpu/event=0x3c,name=foo/"] == [8.0, 8.0]


def test_a_timeline_without_counters_is_refused(model: Path):
    called = irbench("run", model, "--backends", "fake-a", "--timeline", "100ms")
    assert called.code == 2
    assert "--counters" in called.err
