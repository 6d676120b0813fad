"""``irbench sweep`` and ``irbench plan`` through their front door, with backends whose speed is scripted."""

from __future__ import annotations

import json
import signal
import tomllib
from dataclasses import replace
from pathlib import Path

import models
import onnx
import pytest
from fake_runs import FASTEST_PLAN
from front_door import irbench, irbench_process

import irbench as api
from irbench.store.runs import Store

pytestmark = pytest.mark.usefixtures("known_backends")

PLAN = f"""{FASTEST_PLAN}
[[matrix]]
backends = ["fake-a", "fake-b"]
batch = [1, 2]
streams = [1, 2]
exclude = [{{ backends = "fake-b", streams = 2 }}]
"""

ONE_ROW = """
[defaults]
models = "mlp.onnx"
quick = true
budget = "60m"

[[matrix]]
backends = "fake-a"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    models.mlp(tmp_path)
    path = tmp_path / "night.toml"
    path.write_text(PLAN)
    return path


@pytest.mark.ci
def test_a_plan_is_measured_table_by_table_with_the_rows_that_it_names(plan: Path, own_home: Path) -> None:
    called = irbench("sweep", plan, "--format", "json")
    assert called.code == 0, called.err
    tables = called.document["tables"]
    assert sorted(table["label"] for table in tables) == ["mlp.onnx batch=1", "mlp.onnx batch=2"]
    store = Store(own_home / "results")
    for table in tables:
        (group,) = store.load(store.find(table["run"])).groups
        assert {row.label for row in group.cells} == {"fake-a", "fake-a x2", "fake-b"}
        assert all(row.latency_ms is not None for row in group.cells)
    shown = irbench("results", "--format", "json")
    assert {run["name"] for run in shown.document["runs"]} == {"night mlp.onnx batch=1", "night mlp.onnx batch=2"}


@pytest.mark.ci
def test_a_plan_lists_its_cells_with_the_time_that_stored_runs_took(plan: Path) -> None:
    expanded = irbench("plan", "expand", plan)
    assert expanded.code == 0
    assert "6 cells in 2 tables; time limit 0 s plus exports" in expanded.err
    assert expanded.out.count("limit 0 s") == 6
    assert irbench("sweep", plan, "--only", "batch=1").code == 0
    again = irbench("plan", "expand", plan)
    assert "stored runs of 1 table took" in again.err
    cells = irbench("plan", "expand", plan, "--format", "json").document["cells"]
    assert {cell["settings"]["batch"] for cell in cells if cell["table_expected_s"] is not None} == {1}
    assert irbench("plan", "expand", plan, "--format", "csv").out.count("\n") == 7


@pytest.mark.ci
def test_a_table_that_was_interrupted_goes_on_after_its_last_launch(plan: Path, own_home: Path) -> None:
    plan.write_text(ONE_ROW)
    heard: list[int] = []

    def stop(progress: api.Progress) -> None:
        if progress.interim is not None:
            heard.append(progress.interim.launches)
            raise KeyboardInterrupt

    with pytest.raises(api.Interrupted) as caught:
        api.sweep(plan, progress=stop)
    (stopped,) = caught.value.result.overview.tables  # type: ignore[attr-defined]
    launches: list[int] = []

    def follow(progress: api.Progress) -> None:
        if progress.interim is not None:
            launches.append(progress.interim.launches)

    found = api.sweep(plan, resume=True, progress=follow)
    assert (heard, launches) == ([1], [2, 3])
    (run,) = found.runs()
    assert (run.id, run.document.complete, run.tables[0].result.launches) == (stopped.run, True, 3)
    assert len(Store(own_home / "results").listing().entries) == 1


@pytest.mark.ci
def test_a_table_of_a_model_with_another_content_does_not_go_on(plan: Path, own_home: Path) -> None:
    plan.write_text(ONE_ROW)

    def stop(progress: api.Progress) -> None:
        if progress.interim is not None:
            raise KeyboardInterrupt

    with pytest.raises(api.Interrupted):
        api.sweep(plan, progress=stop)
    changed = onnx.load(plan.parent / "mlp.onnx")
    changed.doc_string = "trained longer"
    onnx.save(changed, plan.parent / "mlp.onnx")
    (table,) = api.sweep(plan, resume=True, progress=None).overview.tables
    runs = Store(own_home / "results").listing().entries
    assert [entry.complete for entry in runs] == [True, False]
    assert table.run == runs[0].run_id


@pytest.mark.ci
def test_a_request_to_end_says_how_to_go_on(plan: Path) -> None:
    plan.write_text(PLAN.replace('"0.01s"', '"60m"\nset = { fake-a = { fault = "interrupt", at = "relaunch" } }'))
    called = irbench_process("sweep", plan, "--name", "by-night")
    assert called.code == 128 + signal.SIGINT
    assert called.err.rstrip().endswith(f"interrupted: irbench sweep {plan} --name by-night --resume goes on")
    assert "1 interrupted, 1 not begun" in called.out


@pytest.mark.ci
def test_a_stored_run_is_a_plan_that_measures_the_same(plan: Path, tmp_path: Path) -> None:
    options = ("--backends", "fake-a", "--streams", "1,2", "--threads", "1", "--seed", "3")
    first = irbench("run", tmp_path / "mlp.onnx", *options, "--quick", "--budget", "0.01s", "--name", "before")
    assert first.code == 0, first.err
    again = tmp_path / "again.toml"
    assert irbench("plan", "from", "before", "-o", again).code == 0
    assert tomllib.loads(again.read_text())["matrix"] == [{"streams": [1, 2]}]
    assert irbench("sweep", again).code == 0
    new, old = api.load().document.plan, api.load("before").document.plan
    assert replace(new, command=(), name="") == replace(old, command=(), name="")


@pytest.mark.ci
def test_a_run_without_a_name_is_a_plan_that_can_be_measured(plan: Path, tmp_path: Path) -> None:
    first = irbench("run", tmp_path / "mlp.onnx", "--backends", "fake-a", "--quick", "--budget", "0.01s")
    assert first.code == 0, first.err
    again = tmp_path / "again.toml"
    assert irbench("plan", "from", "latest", "-o", again).code == 0
    assert irbench("sweep", again).code == 0


def test_the_schema_and_the_shipped_plans_are_printed() -> None:
    schema = json.loads(irbench("plan", "schema").out)
    assert schema["title"] == "irbench plan"
    listed = irbench("plan", "list").out
    assert "resnet152-threads" in listed
    assert irbench("plan", "show", "batch-curve").out.startswith("# cnn_cifar10")


def test_a_bad_plan_is_refused_with_a_line_for_each_problem(plan: Path) -> None:
    plan.write_text('[defaults]\nmodels = "net"\nbach = 8\n[[matrix]]\nstreams = [1, 0]\n')
    for command in (("sweep", plan), ("plan", "expand", plan)):
        called = irbench(*command)
        assert (called.code, called.out) == (2, "")
        assert called.err.splitlines() == [
            f"error: {plan} has 2 problems.",
            "  defaults.bach: there is no such key. Did you mean batch?",
            "  matrix[0].streams[1]: 0 is not an integer of at least 1",
            "hint: Fix every line above; irbench plan schema prints all keys with their forms.",
        ]


def test_a_plan_for_another_machine_can_be_expanded_here(plan: Path) -> None:
    plan.write_text(PLAN.replace("fake-b", "fake-absent"))
    assert irbench("sweep", plan).code == 2
    called = irbench("plan", "expand", plan)
    assert called.code == 0
    assert "warning: mlp.onnx batch" in called.err
    assert "fake-absent needs irbench-fake" in called.err
