"""Tables of a mode of a run: measured one after the other, stored after every round, kept when an interrupt ends it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from irbench.core.result import RunDocument
from irbench.core.row import ENDED_EARLY
from irbench.measure.clock import Stopwatch
from irbench.runner.plan import GraphRefused, PlannedGroup, with_other_graphs
from irbench.runner.request import RunRequest
from irbench.runner.rounds import Rounds
from irbench.runner.run_progress import Listener
from irbench.runs.run_modes import TableField
from irbench.store.runs import RunWriter
from irbench.system.signals import signals_deferred

Table = TypeVar("Table")


@dataclass(frozen=True)
class TableTask:
    """A table to be measured.

    Attributes:
        field: Of the document, which holds it.
        number: Its place there.
        planned: Its rows.
        request: What was asked for, with the table's share of the budget.
        scratch: A folder for it that is gone after the run.
        writer: The run.
        listen: Receives progress.
    """

    field: TableField
    number: int
    planned: PlannedGroup
    request: RunRequest
    scratch: Path
    writer: RunWriter
    listen: Listener

    @property
    def batch(self) -> int | None:
        """Its batch, which progress names where the run has several."""
        return self.planned.group.main.batch if len(self.request.asked.batch or ()) > 1 else None

    def rounds(self, most: int, budget_s: float, **facts: Any) -> Rounds:
        """Return rounds of its launches, in an order that is drawn for it.

        Args:
            most: After how many rounds they end.
            budget_s: The time that they may take.
            facts: Other fields of :class:`~irbench.runner.rounds.Rounds`.
        """
        usual = {
            "model": self.planned.group.main.bundle.name,
            "seed": f"{self.field}/{self.request.asked.seed}/{self.number}",
            "listen": self.listen,
            "batch": self.batch,
        }
        return Rounds(most=most, budget_s=budget_s, **{**usual, **facts})


class ModeTable(ABC, Generic[Table]):
    """Measures one table of a mode: the mode says how its rows are launched, and what the table holds of that.

    Attributes:
        task: What is measured.
    """

    def __init__(self, task: TableTask) -> None:
        self.task = task

    @abstractmethod
    def measure(self) -> Any:
        """Measure all rows, :meth:`commit` with ``"unfinished"`` after each round, and return why the table ended.

        Raises:
            GraphRefused: A row needs the other form of its graph, and nothing was measured: the table begins again.
        """

    @abstractmethod
    def table(self, stopped_by: Any) -> Table:
        """Return the table, derived from all that was measured so far."""

    def commit(self, stopped_by: Any) -> Table:
        """Put the table as it is now into the run's document, which is in the store."""
        task, table = self.task, self.table(stopped_by)
        document = task.writer.document
        tables = (*getattr(document, task.field)[: task.number], table)
        changed: dict[str, Any] = {task.field: tables}
        task.writer.commit(replace(document, **changed))
        return table

    def run(self) -> Table:
        """Measure the table and return it; what was measured before an interrupt stays in it."""
        stopped_by: Any = "interrupt"
        with suppress(KeyboardInterrupt):
            stopped_by = self.measure()
        with signals_deferred():  # who interrupts once more must not lose what the first one kept
            return self.commit(stopped_by)

    @property
    def ends_run(self) -> bool:
        """Whether no table follows, though this one was not interrupted itself."""
        return False


def measure_tables(
    kind: type[ModeTable[Any]],
    field: TableField,
    request: RunRequest,
    groups: Sequence[PlannedGroup],
    scratch: Path,
    writer: RunWriter,
    listen: Listener,
) -> RunDocument:
    """Measure each table that the run does not have yet, and return its document, which is also in the store.

    An interrupt ends the run; every finished launch is in the document, whose last table says so.
    """
    document = writer.document
    finished = tuple(table for table in getattr(document, field) if table.stopped_by not in ENDED_EARLY)
    planned = len(groups) if document.tables_planned is None else document.tables_planned
    begun: dict[str, Any] = {field: finished}
    writer.commit(replace(document, tables_planned=planned, **begun))
    watch = Stopwatch(sum(table.seconds for table in (*document.groups, *finished)))
    waiting, attempts = list(groups[len(finished) :]), count()
    while waiting:
        number, share = len(groups) - len(waiting), request.with_budget_for(1, len(waiting), watch.elapsed_s)
        folder = scratch / f"{field}-{next(attempts)}"
        folder.mkdir(parents=True, exist_ok=True)
        measured = kind(TableTask(field, number, waiting.pop(0), share, folder, writer, listen))
        try:
            table = measured.run()
        except GraphRefused as refused:
            waiting.insert(0, with_other_graphs(measured.task.planned, refused))
            continue
        if table.stopped_by == "interrupt" or (waiting and measured.ends_run):
            return writer.document
    return writer.commit(replace(writer.document, complete=True))
