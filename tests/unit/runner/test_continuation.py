"""A run that ended early goes on after its last launch, as if it had not ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import documents
import launches
import models
import pytest

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.measure.lock import Holder
from irbench.notices.notes import AnotherIrbench, GraphFormRefused, Int8StaticChosen, TailRange
from irbench.notices.warnings import TailOmitted
from irbench.runner.continuation import PlannedRun, as_begun, changes_since, group_so_far, without_unfinished
from irbench.runner.launch_state import LaunchInputs, LaunchPlan
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import prepare
from irbench.runner.progress import Progress
from irbench.runner.reference import Expected
from irbench.runner.request import RunRequest
from irbench.runner.tempo import Tempo
from irbench.runs import comparison
from irbench.spec import Bundle, InputSpec, Timing
from irbench.store import Store

ENVIRONMENT = {"cpu": {"Model name": "A CPU"}, "distributions": {"ort": "1.0"}}


TwoTables: TypeAlias = tuple[RunRequest, tuple[PlannedGroup, ...]]


class Scripted:
    """A launch of six blocks, the first of which is burn-in, with seven calls in each."""

    turns: ClassVar[list[LaunchInputs]] = []

    def __init__(self, plan: LaunchPlan, inputs: LaunchInputs, *_: Any) -> None:
        self.plan, self.inputs = plan, inputs
        self.turns.append(inputs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def measure(self) -> tuple[LaunchRecord, Tempo]:
        rounds = [launches.synchronous(block, [1e6 + self.inputs.number] * 7) for block in range(6)]
        cells = [launches.measured(cell.id, rounds) for cell in self.inputs.cells]
        record = replace(launches.launch(self.inputs.number, cells), group=self.plan.number)
        return record, Tempo({cell.id: 7 for cell in self.inputs.cells}, self.plan.timing, stride=7)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[Scripted]:
    monkeypatch.setattr(Scripted, "turns", [])
    monkeypatch.setattr(comparison, "Launch", Scripted)
    monkeypatch.setattr(comparison, "expected_outputs", lambda *_: Expected(None, None))
    monkeypatch.setattr(comparison, "CoreLink", lambda _: nullcontext())  # which scripted launches do not ask
    return Scripted


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> TwoTables:
    """A request, and what is measured for it."""
    folder = tmp_path_factory.mktemp("model")
    artifact = models.mlp(folder)
    bundle = Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))
    timing = Timing(min_launches=3, max_launches=3)
    request = RunRequest((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), batches=(1, 2), timing=timing, apart=True)
    return request, plan(request, prepare(request, folder / "scratch"))


def stop_after(batch: int, launch: int) -> Callable[[Progress], None]:
    def listen(progress: Progress) -> None:
        if progress.batch == batch and progress.interim is not None and progress.interim.launches == launch:
            raise KeyboardInterrupt

    return listen


def measured(store: Store, asked: TwoTables, listen: Callable[[Progress], None]) -> Path:
    request, groups = asked
    writer = store.begin(ENVIRONMENT, request.as_plan())
    comparison.run(request, groups, store.root / "one", writer, listen, tuple[Holder, ...])
    return writer.folder


def gone_on(store: Store, folder: Path, asked: TwoTables, listen: Callable[[Progress], None]) -> RunDocument:
    request, groups = asked
    document = store.load(folder)
    assert not changes_since(document, PlannedRun(request.as_plan(), ENVIRONMENT, {}, groups))
    so_far = group_so_far(document, store.launches(folder))
    writer = store.reopen(folder, document)
    return comparison.run(request, groups, store.root / "two", writer, listen, tuple[Holder, ...], so_far)


def without_times(table: GroupResult) -> GroupResult:
    return replace(table, seconds=0.0)


@pytest.mark.ci
@pytest.mark.parametrize(("batch", "launch"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_a_run_that_goes_on_ends_as_one_that_was_not_interrupted(
    tmp_path: Path, two_tables: TwoTables, scripted: type[Scripted], batch: int, launch: int
) -> None:
    store = Store(tmp_path / "results")
    whole = store.load(measured(store, two_tables, lambda _: None))
    uninterrupted = [(inputs.number, inputs.first) for inputs in scripted.turns]
    scripted.turns.clear()
    folder = measured(store, two_tables, stop_after(batch, launch))
    assert not store.load(folder).complete
    document = gone_on(store, folder, two_tables, lambda _: None)
    assert [(inputs.number, inputs.first) for inputs in scripted.turns] == uninterrupted  # none twice
    assert document.complete
    assert store.load(folder) == document
    assert [without_times(table) for table in document.groups] == [without_times(table) for table in whole.groups]
    assert len(store.launches(folder)) == 6


class Killed(BaseException):
    """What leaves a run without another word, as SIGKILL does."""


def test_a_run_that_is_killed_while_it_goes_on_keeps_what_it_had(
    tmp_path: Path, two_tables: TwoTables, scripted: type[Scripted]
) -> None:
    store = Store(tmp_path / "results")
    folder = measured(store, two_tables, stop_after(2, 2))

    def kill(_: Progress) -> None:
        raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            gone_on(store, folder, two_tables, kill)
    scripted.turns.clear()
    assert gone_on(store, folder, two_tables, lambda _: None).complete
    assert [inputs.number for inputs in scripted.turns] == [2]


def test_time_that_was_spent_before_counts(tmp_path: Path, two_tables: TwoTables, scripted: type[Scripted]) -> None:
    store = Store(tmp_path / "results")
    folder = measured(store, two_tables, stop_after(1, 1))
    document = store.load(folder)
    spent = replace(document.groups[0], seconds=1000.0)
    store.reopen(folder, document).commit(replace(document, groups=(spent,)))
    scripted.turns.clear()
    found = gone_on(store, folder, two_tables, lambda _: None)
    assert found.groups[0].stopped_by == "budget"
    assert found.groups[0].seconds >= 1000
    assert [inputs.number for inputs in scripted.turns] == [0, 1, 2]  # of the second table


def test_what_was_noted_before_stays(tmp_path: Path, two_tables: TwoTables, scripted: type[Scripted]) -> None:
    store = Store(tmp_path / "results")
    folder = measured(store, two_tables, stop_after(1, 1))
    document = store.load(folder)
    table = document.groups[0]
    note = AnotherIrbench(process=7, since="2026-01-05T10:00:00+00:00", what="vgg16")
    remark = TailOmitted(calls=1000, seconds=9.0, launches=3, needed_s=99.0)
    noted = replace(table, notes=(*table.notes, note), warnings=(remark, *table.warnings))
    store.reopen(folder, document).commit(replace(document, groups=(noted,)))
    found = gone_on(store, folder, two_tables, lambda _: None).groups[0]
    assert found.notes.count(note) == 1
    assert found.warnings.count(remark) == 1


def test_without_a_launch_there_is_nothing_to_go_on_with() -> None:
    table = documents.group(stopped_by="interrupt")
    document = documents.document(table, complete=False)
    assert group_so_far(document, ()) is None
    assert without_unfinished(document).groups == ()
    assert group_so_far(documents.document(documents.group(stopped_by="target")), [launches.launch(0, [])]) is None
    assert group_so_far(documents.document(groups=()), ()) is None


def test_time_of_finished_tables_counts_towards_the_budget_of_the_whole_run(
    tmp_path: Path, two_tables: TwoTables, scripted: type[Scripted]
) -> None:
    request, groups = two_tables
    limited = replace(request, budget_s=100.0).with_budget_for(1, 2), groups
    store = Store(tmp_path / "results")
    folder = measured(store, limited, stop_after(2, 1))
    document = store.load(folder)
    first, second = document.groups
    spent = replace(document, groups=(replace(first, seconds=99.0), second))
    store.reopen(folder, document).commit(spent)
    found = gone_on(store, folder, limited, lambda _: None)
    assert found.groups[1].basis is not None
    assert found.groups[1].basis.budget_s <= 1.0


def test_rows_go_on_with_the_form_of_the_graph_that_they_ran(two_tables: TwoTables) -> None:
    _, groups = two_tables
    cells = groups[0].group.cells
    refused = GraphFormRefused(backend="fake-b", refused="bound", reason="no kernel")
    chosen = Int8StaticChosen(backend="openvino", asked="int8", chosen="int8-static")
    rows = [documents.cell("fake", id=cell.id, dynamic=cell.id == cells[1].id) for cell in cells]
    table = documents.group(*rows, notes=(refused, chosen, TailRange(cell="a", low_ms=1.0, high_ms=2.0)))
    first, second = as_begun(groups, (table,))
    assert [cell.dynamic for cell in first.group.cells] == [False, True]
    assert first.group.cells[1].artifact == groups[0].others[cells[1].id]
    assert first.group.cells[0] == cells[0]
    assert (first.notes, second.notes) == ((refused, chosen), (chosen,))
    assert set(first.others) == {cells[0].id}
    assert as_begun(groups, ()) == groups
