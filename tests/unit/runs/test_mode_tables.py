"""Tables of a mode: what each may take of the budget, and what is kept however the run ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from documents import document
from planned_groups import planned
from run_requests import run_request

from irbench.core.result import RunDocument
from irbench.runner.plan import GraphRefused, PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs import mode_tables
from irbench.runs.mode_tables import ModeTable, measure_tables
from irbench.spec import Timing
from irbench.store.runs import RunWriter


@dataclass(frozen=True)
class Table:
    """A table of the scripted mode, which takes the place of soaks."""

    number: int
    stopped_by: str
    budget_s: float
    seconds: float = 10.0


class Writer:
    """A run in memory."""

    def __init__(self, *tables: Table) -> None:
        self.document = replace(document(), groups=(), soaks=cast("Any", tables), tables_planned=None, complete=False)

    def commit(self, found: RunDocument) -> RunDocument:
        self.document = found
        return found

    @property
    def tables(self) -> list[tuple[int, str]]:
        return [(table.number, table.stopped_by) for table in cast("Any", self.document.soaks)]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a stopwatch that stands still unless a table says what it took."""
    time = SimpleNamespace(elapsed_s=0.0)

    def started(spent_s: float = 0.0) -> SimpleNamespace:
        time.elapsed_s = spent_s
        return time

    monkeypatch.setattr(mode_tables, "Stopwatch", started)
    return time


def measured(
    writer: Writer,
    scratch: Path,
    measure: Callable[[ModeTable[Table]], str],
    *,
    leaves_rest: bool = False,
    groups: tuple[PlannedGroup, ...] = (),
    request: RunRequest | None = None,
) -> RunDocument:
    """Measure three tables with a mode that does as it is told."""

    class Scripted(ModeTable[Table]):
        def measure(self) -> str:
            return measure(self)

        def table(self, stopped_by: str) -> Table:
            return Table(self.task.number, stopped_by, self.task.request.timing.budget)

        @property
        def ends_run(self) -> bool:
            return leaves_rest

    asked = request or run_request(timing=Timing(budget=90.0))
    groups = groups or planned(batch=(1, 2, 4), apart=True)
    return measure_tables(Scripted, "soaks", asked, groups, scratch, cast("RunWriter", writer), lambda _progress: None)


def test_every_table_is_stored_after_each_round_and_the_run_is_complete_in_the_end(tmp_path: Path) -> None:
    writer, seen = Writer(), list[Any]()

    def measure(table: ModeTable[Table]) -> str:
        table.commit("unfinished")
        seen.append((writer.tables, writer.document.complete))
        return "finished"

    found = measured(writer, tmp_path, measure)
    assert seen[1] == ([(0, "finished"), (1, "unfinished")], False)
    assert writer.tables == [(0, "finished"), (1, "finished"), (2, "finished")]
    assert (found.complete, found.tables_planned) == (True, 3)


def test_what_a_table_leaves_of_the_budget_is_shared_by_those_that_follow(
    tmp_path: Path, watch: SimpleNamespace
) -> None:
    taken, writer = iter([10.0, 40.0, 20.0]), Writer()

    def measure(_table: ModeTable[Table]) -> str:
        watch.elapsed_s += next(taken)
        return "finished"

    measured(writer, tmp_path, measure, request=run_request(budget_s=90.0))
    assert [table.budget_s for table in cast("Any", writer.document.soaks)] == [30.0, 40.0, 40.0]


def test_tables_that_are_finished_are_not_measured_again(tmp_path: Path, watch: SimpleNamespace) -> None:
    writer = Writer(Table(0, "finished", 30.0), Table(1, "interrupt", 30.0))
    found = measured(writer, tmp_path, lambda _table: "launches", request=run_request(budget_s=90.0))
    assert writer.tables == [(0, "finished"), (1, "launches"), (2, "launches")]
    assert cast("Any", found.soaks)[1].budget_s == 40.0, "80 s were left of 90"
    assert watch.elapsed_s == 10.0


def test_an_interrupt_keeps_what_was_measured_and_ends_the_run(tmp_path: Path) -> None:
    def measure(table: ModeTable[Table]) -> str:
        if table.task.number == 1:
            raise KeyboardInterrupt
        return "finished"

    writer = Writer()
    assert not measured(writer, tmp_path, measure).complete
    assert writer.tables == [(0, "finished"), (1, "interrupt")]


def test_an_interrupt_while_a_finished_table_is_stored_is_not_taken_for_one_of_the_table(tmp_path: Path) -> None:
    import signal

    writer = Writer()

    def measure(_table: ModeTable[Table]) -> str:
        commit = writer.commit

        def interrupted(found: RunDocument) -> RunDocument:
            signal.raise_signal(signal.SIGINT)
            return commit(found)

        writer.commit = interrupted  # type: ignore[method-assign]
        return "finished"

    with pytest.raises(KeyboardInterrupt):
        measured(writer, tmp_path, measure)
    assert writer.tables == [(0, "finished")]
    assert not writer.document.complete


@pytest.mark.parametrize(("tables", "is_complete"), [(2, False), (1, True)])
def test_what_ends_a_run_after_a_table_matters_only_where_others_follow(
    tmp_path: Path, tables: int, is_complete: bool
) -> None:
    groups = planned(batch=(1, 2, 4), apart=True)[:tables]
    found = measured(Writer(), tmp_path, lambda _table: "finished", leaves_rest=True, groups=groups)
    assert found.complete is is_complete


def test_a_table_whose_graph_is_refused_begins_again_with_the_other_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, folders = planned()[0], list[Path]()
    monkeypatch.setattr(mode_tables, "with_other_graphs", lambda *_: other)

    def measure(table: ModeTable[Table]) -> str:
        folders.append(table.task.scratch)
        if len(folders) == 1:
            raise GraphRefused("fake-a-cpu-fp32-x1", "no")
        assert len(folders) > 2 or table.task.planned is other
        return "finished"

    writer = Writer()
    measured(writer, tmp_path, measure)
    assert writer.tables == [(0, "finished"), (1, "finished"), (2, "finished")]
    assert len({*folders}) == 4, "nothing of the first attempt is left in the way"
