"""A sweep measures what is left of its plan, whatever happens to single tables, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import documents
import front_door
import pytest
import stored_runs

import irbench
from irbench.api import sweep_execution
from irbench.api.measurement import StoredRun
from irbench.api.sweep import Sweep
from irbench.api.sweep_tables import SweepSetup
from irbench.errors import ExitCode, IrbenchError
from irbench.measure.lock import measuring
from irbench.result import GroupResult
from irbench.store import Store
from irbench.sweeps.cells import SweepTable
from irbench.system.confinement import ConfinementSupport
from irbench.worker import requested_confinement

Answer = Callable[[SweepTable], GroupResult]


class Measured:
    """Takes the place of what measures a table: answers at once, and remembers what it was asked for.

    Attributes:
        batches: Of the tables it was asked for, in order.
        unfinished: The run that each was to go on with.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.batches: list[int] = []
        self.unfinished: list[str | None] = []
        self.answer: Answer = lambda table: documents.group(documents.cell("fake-a"), batch=table.batch)

    def __call__(self, table: SweepTable, setup: SweepSetup, destination: Any, *_: Any) -> StoredRun:
        self.batches.append(table.batch)
        self.unfinished.append(destination.unfinished)
        writer = Store(self.results).begin({}, {"models": ["net"], "name": setup.name})
        destination.begun(writer.document.run_id)
        found = self.answer(table)
        complete = found.stopped_by != "interrupt"
        return StoredRun(writer.commit(replace(writer.document, groups=(found,), complete=complete)), writer.folder)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    monkeypatch.setattr(sweep_execution, "require_model", lambda *_: None)
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "results"))
    fake = Measured(tmp_path / "results")
    monkeypatch.setattr(sweep_execution, "measure_table", fake)
    return fake


def plan(**matrix: Any) -> dict[str, Any]:
    return {
        "name": "night",
        "defaults": {"models": "net", "backends": "fake-a"},
        "matrix": [{"batch": [1, 2, 4], **matrix}],
    }


def sweep(asked: dict[str, Any], **options: Any) -> Sweep:
    return irbench.sweep(asked, progress=None, **options)


def statuses(found: Sweep) -> dict[int, str]:
    return {shown.table.batch: shown.status for shown in found.overview.tables}


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
        '[defaults]\nmodels = "net"\nbackends = "fake-a"\n[[matrix]]\nbatch = [1, 2]\n'
    )
    called = front_door.irbench("sweep", tmp_path / "night.toml", *options)
    assert called.code == code, called.err
    assert called.out.count("openvino and ort undecided (openvino 32.5 ms)") == 2
    assert "Highest FPS of 2 tables of net: openvino at batch=" in called.out


def test_a_sweep_that_was_begun_goes_on_only_when_asked_to(measured: Measured):
    sweep(plan())
    with pytest.raises(IrbenchError, match=r"was begun at .* and has 3 measured tables") as caught:
        sweep(plan())
    assert "--resume" in caught.value.hint
    assert len(measured.batches) == 3


@pytest.mark.parametrize(("begun", "now", "remedy"), [("1", "0", "Set IRBENCH_CONFINE=1"), ("0", "1", "Unset IRBENCH")])
def test_a_sweep_goes_on_with_confined_workers_only_if_it_was_begun_with_them(
    measured: Measured, monkeypatch: pytest.MonkeyPatch, begun: str, now: str, remedy: str
):
    monkeypatch.setattr(requested_confinement, "confinement_support", lambda: ConfinementSupport(7, seccomp=True))
    monkeypatch.setenv("IRBENCH_CONFINE", begun)
    sweep(plan())
    monkeypatch.setenv("IRBENCH_CONFINE", now)
    with pytest.raises(IrbenchError, match="confined, and IRBENCH_CONFINE is") as caught:
        sweep(plan(batch=[1, 2, 4, 8]), resume=True)
    assert caught.value.hint.startswith(remedy)
    monkeypatch.setenv("IRBENCH_CONFINE", begun)
    assert sweep(plan(batch=[1, 2, 4, 8]), resume=True).is_complete


def test_a_sweep_on_a_kernel_that_cannot_confine_is_refused_before_its_tables(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(requested_confinement, "confinement_support", lambda: ConfinementSupport(0, seccomp=True))
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    with pytest.raises(IrbenchError, match="Landlock is not available here"):
        sweep(plan())
    assert not measured.batches


def test_cells_that_a_plan_gets_later_are_measured_when_the_sweep_goes_on(measured: Measured):
    sweep(plan())
    sweep(plan(batch=[1, 2, 4, 8]), resume=True)
    assert measured.batches[3:] == [8]


def test_an_interrupt_ends_a_sweep_whose_table_goes_on_in_the_same_run(measured: Measured):
    def interrupt(table: SweepTable) -> GroupResult:
        stop = "interrupt" if len(measured.batches) == 2 else "target"
        return documents.group(documents.cell("fake-a"), batch=table.batch, stopped_by=stop)

    measured.answer = interrupt
    with pytest.raises(irbench.Interrupted) as caught:
        sweep(plan())
    stopped = caught.value.result
    assert isinstance(stopped, Sweep)
    assert sorted(statuses(stopped).values()) == ["done", "interrupted", "waiting"]
    found = sweep(plan(), resume=True)
    assert found.is_complete
    assert measured.batches[1] == measured.batches[2]
    assert len(measured.batches) == 4
    (run,) = [shown.run for shown in stopped.overview.tables if shown.status == "interrupted"]
    assert measured.unfinished == [None, None, run, None]


def test_an_interrupt_before_a_table_is_measured_ends_a_sweep_as_well(measured: Measured):
    def interrupt(_: SweepTable) -> GroupResult:
        raise KeyboardInterrupt

    working, measured.answer = measured.answer, interrupt
    with pytest.raises(irbench.Interrupted) as caught:
        sweep(plan())
    assert isinstance(caught.value.result, Sweep)
    measured.answer = working
    assert sweep(plan(), resume=True).is_complete


def test_a_path_is_a_model_as_its_text_is(measured: Measured):
    sweep({"name": "night", "defaults": {"models": Path("net.onnx"), "backends": "fake-a"}})
    state = (measured.results / "sweeps" / "night" / "state.jsonl").read_text().splitlines()
    assert json.loads(state[0])["plan"]["defaults"]["models"] == "net.onnx"


def test_a_table_that_cannot_be_measured_does_not_stop_the_others_and_is_tried_again(measured: Measured):
    def fail(table: SweepTable) -> GroupResult:
        if table.batch == 2:
            raise IrbenchError("There is no such shape.", hint="Give another.")
        return documents.group(documents.cell("fake-a"), batch=table.batch)

    working, measured.answer = measured.answer, fail
    found = sweep(plan())
    assert statuses(found) == {1: "done", 2: "failed", 4: "done"}
    assert (found.is_complete, found.exit_code) == (False, ExitCode.FAILED_CELL)
    assert "not measured: There is no such shape" in str(found)
    measured.answer = working
    found = sweep(plan(), resume=True)
    assert (found.is_complete, found.exit_code) == (True, 0)
    assert measured.batches[3:] == [2]


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


def curve(fps: dict[int, float], peak_gb: float = 0.1) -> Answer:
    """Return what measures a row of this throughput at each batch, and of memory that grows with the batch."""

    def answer(table: SweepTable) -> GroupResult:
        memory = {"process": round(peak_gb * table.batch * 1e9)}
        row = documents.cell("fake-a", fps=fps[table.batch], batch=table.batch, peak_memory_bytes=memory)
        return documents.group(row, batch=table.batch)

    return answer


def test_a_curve_ends_where_doubling_gains_too_little(measured: Measured):
    measured.answer = curve({1: 100, 2: 180, 4: 300, 8: 310})
    found = sweep(plan(batch="doubling", **{"largest-batch": 64}))
    assert measured.batches == [1, 2, 4, 8]
    assert statuses(found) == {
        1: "done",
        2: "done",
        4: "done",
        8: "done",
        16: "left-out",
        32: "left-out",
        64: "left-out",
    }
    assert found.is_complete
    assert "fake-a: knee at batch 4, beyond which doubling gains less than 5 %" in str(found)
    assert "ended at batch 8: doubling gained less than 5 % in every row that ran" in str(found)
    assert sweep(plan(batch="doubling", **{"largest-batch": 64}), resume=True).is_complete
    assert len(measured.batches) == 4


def test_a_curve_ends_before_memory_is_full(measured: Measured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_execution.host, "available_memory_bytes", lambda: 5 * 10**9)
    measured.answer = curve({2**step: 100 * 2**step for step in range(8)}, peak_gb=1.0)
    found = sweep(plan(batch="doubling"))
    assert measured.batches == [1, 2, 4]
    assert "ended at batch 4: fake-a would need 8.0 GB at twice that, and 5.0 GB are free" in str(found)
    assert "no knee up to batch 4" in str(found)


def test_a_curve_waits_where_a_smaller_batch_could_not_be_measured(measured: Measured):
    def fail(table: SweepTable) -> GroupResult:
        if table.batch == 4:
            raise IrbenchError("No.", hint="Yes.")
        return curve({1: 100, 2: 200})(table)

    measured.answer = fail
    found = sweep(plan(batch="doubling", **{"largest-batch": 16}))
    assert measured.batches == [1, 2, 4]
    measured.answer = curve({4: 400, 8: 401, 16: 401})
    found = sweep(plan(batch="doubling", **{"largest-batch": 16}), resume=True)
    assert measured.batches[3:] == [4, 8]
    assert found.is_complete


def test_a_sweep_as_json_names_its_runs_cells_and_points(measured: Measured):
    measured.answer = curve({1: 100, 2: 101})
    found = json.loads(sweep(plan(batch="doubling", **{"largest-batch": 4})).to_json())
    assert [table["status"] for table in found["tables"]] == ["done", "done", "left-out"]
    assert [cell["settings"]["batch"] for table in found["tables"] for cell in table["cells"]] == [1, 2, 4]
    (only,) = found["curves"]
    assert [(point["batch"], point["rows"][0]["fps"]) for point in only["points"]] == [(1, 100), (2, 101)]
    assert only["end"]["reason"] == "saturated"


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
    assert "nothere.onnx cannot be read" in first
    assert "Did you mean resnet50?" in second


def test_a_finished_sweep_can_be_looked_at_while_another_irbench_measures(measured: Measured):
    with measuring("something else"), pytest.raises(IrbenchError, match="already measuring"):
        sweep(plan())
    sweep(plan())
    with measuring("something else"):
        assert sweep(plan(), resume=True).is_complete


def test_the_runs_of_a_sweep_are_listed_like_others(measured: Measured):
    sweep(plan())
    assert len(stored_runs.listed(measured.results)) == 3
