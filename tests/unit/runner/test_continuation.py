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
from run_requests import run_request

from irbench import __version__
from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.features.run.resume import changed_message, changed_remedy
from irbench.measure.lock import Holder
from irbench.notices.notes import AnotherIrbench, GraphFormRefused, Int8StaticChosen, TailRange
from irbench.notices.warnings import TailOmitted
from irbench.runner.continuation import (
    ConfinementChange,
    FileChange,
    PlannedRun,
    RowsChange,
    RunChange,
    SettingChange,
    as_begun,
    changed_environment,
    changes_since,
    group_so_far,
    without_unfinished,
)
from irbench.runner.launch_size import Tempo
from irbench.runner.launch_state import LaunchInputs, LaunchPlan
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import prepare
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.request import RunRequest
from irbench.runner.run_progress import Progress
from irbench.runs import group_measurement as comparison
from irbench.spec import Bundle, InputSpec, Timing
from irbench.store.runs import Store

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
    monkeypatch.setattr(comparison, "expected_outputs", lambda *_: ReferenceOutputs(None, None))
    monkeypatch.setattr(comparison, "CoreLink", lambda _: nullcontext())  # which scripted launches do not ask
    return Scripted


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> TwoTables:
    """A request, and what is measured for it."""
    folder = tmp_path_factory.mktemp("model")
    artifact = models.mlp(folder)
    bundle = Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))
    timing = Timing(min_launches=3, max_launches=3)
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), batch=(1, 2), timing=timing, apart=True)
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


MACHINE_FACTS = {"kernel": "6.1", "cpu": {"Model name": "A CPU"}, "distributions": {"ort": "1.0"}}
FILES = {"mlp (onnx)": "abc", "loop.py": "def"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> PlannedRun:
    """What would be measured now: two tables of two rows."""
    folder = tmp_path_factory.mktemp("model")
    artifact = models.mlp(folder)
    bundle = Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))
    request = run_request((bundle,), (("fake-a", "cpu"), ("fake-b", "cpu")), batch=(1, 2), apart=True)
    groups = plan(request, prepare(request, folder / "scratch"))
    return PlannedRun(request.as_plan(), MACHINE_FACTS, FILES, groups)


@pytest.fixture
def begun(planned: PlannedRun) -> RunDocument:
    """The same run, which ended early in its first table."""
    rows = tuple(documents.cell("fake-a", id=cell.id) for cell in planned.groups[0].group.cells)
    table = documents.group(*rows, model="mlp", batch=1, stopped_by="unfinished")
    found = documents.document(table, complete=False, environment=MACHINE_FACTS, plan=planned.plan)
    return replace(found, irbench_version=__version__, file_digests=FILES)


def test_a_run_whose_command_was_written_otherwise_is_the_same(begun: RunDocument, planned: PlannedRun) -> None:
    assert not changes_since(begun, replace(planned, plan=replace(planned.plan, command=("irbench", "run"))))


def test_numbers_of_a_plan_are_the_same_but_for_rounding(begun: RunDocument, planned: PlannedRun) -> None:
    limited = replace(begun, plan=replace(begun.plan, goal={"objective": "fps", "max_latency_ms": 0.7}))
    again = {"objective": "fps", "max_latency_ms": 1e3 * (0.7 / 1e3) + 1e-16}
    assert not changes_since(limited, replace(planned, plan=replace(planned.plan, goal=again)))
    other = {**again, "max_latency_ms": 0.71}
    assert changes_since(limited, replace(planned, plan=replace(planned.plan, goal=other)))


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"irbench_version": "0.0.1"}, RunChange("irbench", "0.0.1", __version__)),
        ({"environment": {**MACHINE_FACTS, "kernel": "5.9"}}, RunChange("kernel", "5.9", "6.1")),
        (
            {"environment": {**MACHINE_FACTS, "distributions": {}}},
            RunChange("ort", None, "1.0"),
        ),
        (
            {"environment": {**MACHINE_FACTS, "cpu": {"Model name": "B CPU"}}},
            RunChange("Model name", "B CPU", "A CPU"),
        ),
        (
            {"environment": {**MACHINE_FACTS, "confined": True}},
            ConfinementChange("confined", True, None),
        ),
        ({"file_digests": {**FILES, "loop.py": "123"}}, FileChange("loop.py")),
    ],
    ids=["irbench", "kernel", "package", "processor", "confinement", "file"],
)
def test_what_has_changed_is_named(
    begun: RunDocument, planned: PlannedRun, changes: dict[str, Any], found: RunChange
) -> None:
    assert changes_since(replace(begun, **changes), planned) == (found,)


def test_a_setting_that_the_machine_decides_is_named(begun: RunDocument, planned: PlannedRun) -> None:
    other = replace(begun, plan=replace(begun.plan, threads=(8,)))
    assert changes_since(other, planned) == (SettingChange("threads", [8], list(planned.plan.threads)),)


def test_a_file_that_could_not_be_read_then_or_cannot_be_now_is_no_change(
    begun: RunDocument, planned: PlannedRun
) -> None:
    assert not changes_since(replace(begun, file_digests={}), planned)
    assert not changes_since(begun, replace(planned, files={}))


def tables(table: GroupResult) -> dict[str, tuple[GroupResult, ...]]:
    first, *rest = table.cells
    return {
        "rows": (replace(table, cells=(first,)),),
        "form": (replace(table, cells=(replace(first, dynamic=True), *rest)),),
        "model": (replace(table, model="net"),),
        "batch": (replace(table, batch=2),),
        "more": (table, replace(table, batch=2), table),
    }


@pytest.mark.parametrize("changed", ["rows", "form", "model", "batch", "more"])
def test_a_table_with_other_rows_is_a_change(begun: RunDocument, planned: PlannedRun, changed: str) -> None:
    (table,) = begun.groups
    (found,) = changes_since(replace(begun, groups=tables(table)[changed]), planned)
    assert isinstance(found, RowsChange)


def test_machine_and_packages_are_compared_before_anything_is_planned(begun: RunDocument) -> None:
    assert not changed_environment(begun, MACHINE_FACTS)
    assert [change.name for change in changed_environment(begun, {**MACHINE_FACTS, "kernel": "6.2"})] == ["kernel"]


def test_confinement_that_a_document_does_not_tell_is_no_change(begun: RunDocument) -> None:
    assert changed_environment(begun, {**MACHINE_FACTS, "confined": False}) == ()


@pytest.mark.parametrize(("now", "remedy"), [(True, "Unset IRBENCH_CONFINE to"), (False, "Set IRBENCH_CONFINE=1 to")])
def test_a_run_whose_confinement_alone_is_another_can_go_on_as_it_began(now: bool, remedy: str) -> None:
    change = ConfinementChange("confined", not now, now)
    assert changed_remedy("01KA", [change], "").startswith(remedy)
    assert changed_remedy("01KA", [change, FileChange("loop.py")], "").startswith("Begin another run")


def test_the_message_names_changes_with_both_values_and_counts_those_beyond_five() -> None:
    one = changed_message("01KA", [RunChange("ort", "1.0", None)])
    assert one == "01KA cannot be continued, since something has changed: ort was 1.0 and is missing."
    many = changed_message("01KA", [FileChange(f"file {number}") for number in range(7)])
    assert many.endswith("file 4 has changed; 2 more.")
