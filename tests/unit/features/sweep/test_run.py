"""A sweep measures every table of its plan once, in a random order, and what it cannot measure it names before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import documents
import front_door
import pytest
import stored_runs
from measured_sweeps import Measured, install, plan, sweep

from irbench.errors import ExitCode, IrbenchError
from irbench.system.confinement import ConfinementSupport
from irbench.worker import requested_confinement


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    return install(tmp_path / "results", monkeypatch)


def test_every_table_is_measured_once_and_stored(measured: Measured):
    found = sweep(plan())
    assert sorted(measured.batches) == [1, 2, 4]
    assert (found.is_complete, found.exit_code) == (True, 0)
    assert [run.tables[0].batch for run in found.runs()] == sorted(measured.batches)
    assert sweep(plan(), resume=True).is_complete
    assert len(measured.batches) == 3


def test_the_order_is_random_and_that_of_the_recorded_seed(measured: Measured):
    batches = list(range(1, 12))
    sweep(plan(batch=batches), seed=5)
    first = list(measured.batches)
    assert first != batches
    assert sorted(first) == batches
    sweep(plan(batch=batches), name="again", seed=5)
    assert measured.batches == first * 2
    sweep(plan(batch=batches), name="other", seed=6)
    assert measured.batches[22:] != first


def test_a_sweep_knows_whether_something_is_undecided_also_when_it_goes_on(measured: Measured):
    decided = documents.example()
    assert decided.lead is not None
    undecided = replace(decided, winner=None, lead=replace(decided.lead, reason="undecided"))
    measured.answer = lambda table: replace(undecided, batch=table.batch)
    assert sweep(plan()).undecided
    assert sweep(plan(), resume=True).undecided
    measured.answer = lambda table: replace(decided, batch=table.batch)
    assert not sweep(plan(), name="decided").undecided


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 4)])
def test_a_strict_sweep_exits_with_4_where_something_is_undecided(
    measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int
):
    monkeypatch.setenv("COLUMNS", "200")
    decided = documents.example()
    assert decided.lead is not None
    undecided = replace(decided, winner=None, lead=replace(decided.lead, reason="undecided"))
    measured.answer = lambda table: replace(undecided, batch=table.batch)
    (tmp_path / "night.toml").write_text(
        'compare = ["backends"]\n[defaults]\nmodels = "net"\nbackends = "fake-a"\n[[matrix]]\nbatch = [1, 2]\n'
    )
    called = front_door.irbench("sweep", tmp_path / "night.toml", *options)
    assert called.code == code, called.err
    assert called.out.count("openvino and ort undecided (openvino 32.5 ms)") == 2
    assert "Highest FPS of 2 tables of net: openvino at batch=" in called.out


def test_a_sweep_on_a_kernel_that_cannot_confine_is_refused_before_its_tables(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(requested_confinement, "confinement_support", lambda: ConfinementSupport(0, seccomp=True))
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    with pytest.raises(IrbenchError, match="Landlock is not available here"):
        sweep(plan())
    assert not measured.batches


def test_a_path_is_a_model_as_its_text_is(measured: Measured):
    sweep({"name": "night", "defaults": {"models": Path("net.onnx"), "backends": "fake-a"}})
    state = (measured.results / "sweeps" / "night" / "state.jsonl").read_text().splitlines()
    assert json.loads(state[0])["plan"]["defaults"]["models"] == "net.onnx"


def test_a_sweep_ends_with_the_gravest_of_its_tables(measured: Measured):
    states = {1: "ok", 2: "failed", 4: "mismatch"}
    measured.answer = lambda table: documents.group(
        documents.cell("fake-a", state=states[table.batch]), batch=table.batch
    )
    assert sweep(plan()).exit_code == ExitCode.DIFFERENT
    assert sweep(plan(), only="batch=2", name="other").exit_code == ExitCode.FAILED_CELL


def test_cells_can_be_chosen(measured: Measured):
    sweep(plan(), only=["batch=1", "batch=4"], skip="batch=4")
    assert measured.batches == [1]
    sweep(plan(), resume=True)
    assert sorted(measured.batches[1:]) == [2, 4]


def test_all_that_this_machine_cannot_measure_is_named_before_anything_is(measured: Measured):
    wrong = {"backends": ["fake-x", "fake-a", "fake-absent"], "optimize": "nun", "quick": True, "thorough": True}
    with pytest.raises(IrbenchError) as caught:
        sweep(plan(**wrong))
    said = "\n".join(caught.value.details)
    for problem in (
        "no backend 'fake-x'",
        "fake-absent needs irbench-fake",
        "no level 'nun'",
        "--quick and --thorough",
    ):
        assert problem in said
    assert measured.batches == []
    assert len(caught.value.details) == 4


def test_a_model_that_is_not_there_is_named_once(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(IrbenchError) as caught:
        sweep({"defaults": {"models": ["nothere.onnx", "resnet5"], "batch": [1, 2], "backends": "fake-a"}})
    first, second = sorted(caught.value.details)
    assert "There is no file" in first
    assert "nothere.onnx" in first
    assert "Did you mean resnet50?" in second


def test_the_runs_of_a_sweep_are_listed_like_others(measured: Measured):
    sweep(plan())
    assert len(stored_runs.listed(measured.results)) == 3
