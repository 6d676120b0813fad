"""What a cell in a process of its own answers to each of its inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import launches
import numpy as np
import pytest
from virtual_watches import VirtualTime

from irbench.core.record import Failure
from irbench.runner import workers
from irbench.runner.plan import PlannedGroup
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.workers import CellFailed, CellWorker, Setting, Workers, checked, checked_turns
from irbench.spec import Artifact, Cell, Deadline, Feeding, Timing
from irbench.spi import Outputs
from irbench.system.confinement import Confinement
from irbench.worker import requested_confinement
from irbench.worker.cell import CellTask, PreparedSession

EXPECTED: tuple[Outputs, ...] = ((np.ones(4, np.float32),), (np.full(4, 2, np.float32),), (np.full(4, 3, np.float32),))
PREPARED = PreparedSession({"precision": "fp32", "device": "cpu"}, ())


class Answering:
    """A worker that answers each call with what it was made with."""

    def __init__(self, cell: Cell, *answers: Outputs) -> None:
        self.cell = cell
        self._answers = answers

    def ask(self, _stage: str, target: str, call: int) -> Any:
        assert target == "answer_call"
        return (self._answers[call],)


def setting(samples: int) -> Setting:
    group = launches.group("a")
    feeding = Feeding(samples=tuple(Path(f"{number}.npz") for number in range(samples)))
    (workload,) = group.workloads
    planned = PlannedGroup(replace(group, workloads=(replace(workload, feeding=feeding),)))
    return Setting(planned, Timing(), Path(), ReferenceOutputs(EXPECTED[:samples], None))


def checked_with(*answers: Outputs) -> Any:
    found = setting(len(answers))
    worker = Answering(found.planned.group.cells[0], *answers)
    return checked_turns(cast("CellWorker", worker), "verify", PREPARED, found)


def test_every_sample_is_compared_with_its_own_reference() -> None:
    close = (EXPECTED[1][0] * np.float32(1.00001),)
    assert checked_with(*EXPECTED).max_rel == 0
    assert checked_with(EXPECTED[0], close, EXPECTED[2]).max_rel > 0


@pytest.mark.parametrize("wrong", [1, 2])
def test_an_answer_that_is_wrong_for_one_sample_alone_is_found(wrong: int) -> None:
    answers = [*EXPECTED]
    answers[wrong] = EXPECTED[0]
    with pytest.raises(CellFailed) as caught:
        checked_with(*answers)
    assert caught.value.failure.stage == "verify"
    assert caught.value.output_error is not None


def test_a_single_sample_takes_no_turns() -> None:
    assert checked_with(EXPECTED[0]) is None


def test_a_cell_that_gives_no_answer_is_no_right_one() -> None:
    found = setting(1)
    with pytest.raises(CellFailed, match="gave 0 answers in place of 1"):
        checked(found.planned.group.cells[0], PREPARED, found)


def test_a_confined_cell_reads_the_onnx_file_that_its_operators_are_named_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    allowed: list[Confinement | None] = []
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    monkeypatch.setattr(workers, "Worker", lambda *_, confinement, **__: allowed.append(confinement))
    group = launches.group("a")
    onnx, graph = tmp_path / "model.onnx", tmp_path / "graph.pb"
    (workload,) = group.workloads
    bundle = replace(
        workload.bundle, artifacts=(Artifact("onnx", onnx, (), ()), other := Artifact("tf-graph", graph, (), ()))
    )
    group = replace(group, workloads=(replace(workload, bundle=bundle),))
    alone = Setting(PlannedGroup(group), Timing(), Path(), ReferenceOutputs(None, None))
    alone.worker(replace(group.cells[0], artifact=other, backend="fake-a"))
    assert allowed == [Confinement((graph, onnx), for_runtime=True)]


class Hanging:
    """A worker whose import never ends: time passes until its deadline."""

    time = VirtualTime()
    said: ClassVar[list[str]] = []

    def __init__(self, task: CellTask, *_: object) -> None:
        self.cell, self.spawned_ns = task.cell, 0

    def hold(self, _host: str) -> None: ...

    def send(self, *_: object) -> None:
        self.said.append(f"import {self.cell.id}")

    def receive(self, _stage: str, deadline_s: float) -> None:
        self.said.append(f"wait {self.cell.id}")
        self.time.s += deadline_s
        raise CellFailed(Failure("import", "no answer"))

    def kill(self) -> None: ...


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> type[Hanging]:
    Hanging.time, Hanging.said = VirtualTime(), []
    monkeypatch.setattr(workers, "CellWorker", Hanging)
    monkeypatch.setattr(workers, "Stopwatch", Hanging.time.watch)
    return Hanging


def crew(deadline: Deadline) -> Workers:
    group = launches.group("a", "b", "c")
    tasks = [CellTask(cell, group.main, Timing()) for cell in group.cells]
    return Workers(tasks, Path(), lambda: deadline)


@pytest.mark.parametrize(("by_budget", "most_s"), [(True, 30.0), (False, 90.0)])
def test_workers_that_import_side_by_side_and_hang_are_waited_for_together(
    by_budget: bool, most_s: float, hanging: type[Hanging]
) -> None:
    own = crew(Deadline(30.0, by_budget=by_budget))
    own.start({"a", "b", "c"})
    assert hanging.said[:3] == ["import a", "import b", "import c"]
    assert most_s <= hanging.time.s <= most_s + 3.0
    assert own.failures.keys() == {"a", "b", "c"}


def test_workers_import_one_after_the_other_unless_they_may_side_by_side(hanging: type[Hanging]) -> None:
    crew(Deadline(30.0)).start()
    assert hanging.said == ["import a", "wait a", "import b", "wait b", "import c", "wait c"]
