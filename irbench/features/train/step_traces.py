"""Steps of the rows of a table, traced after these were measured, and read by xprof."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.core.activity import Activity
from irbench.core.record import Failure
from irbench.core.row import LaunchesStop
from irbench.core.training_row import StepOverview, StepTraceRow, StepTraceTable
from irbench.environments.building import build
from irbench.environments.runtime_sources import Release
from irbench.errors import IrbenchError
from irbench.features.train.xprof_overview import overview_of
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.rounds import CellOutcome
from irbench.runner.workers import CellFailed, Setting
from irbench.runs.mode_tables import ModeTable, TableTask
from irbench.spec import Cell
from irbench.stats.workload_facts import bound_shapes
from irbench.worker import call_in_worker

XPROF = Release("xprof", "2.24.2")
"""Reads traces of TensorFlow 2.21; what its page is made of may change with any version."""
TRACED_STEPS = 12
"""xprof leaves out the first and the last."""
_FOLDER = Path("traces", "plugins", "profile")
"""Below it TensorBoard and ``xprof --logdir traces`` look for a folder of each trace."""
_READING_DEADLINE_S = 120.0


@dataclass(kw_only=True)
class _Traced(CellOutcome):
    """A cell, and its trace."""

    trace: str = ""
    overview: StepOverview | None = None


class StepTraces(ModeTable[StepTraceTable]):
    """Traces the rows of a table that were measured, each in a launch of its own.

    They have what measuring left of the budget; rows for which it has no time are not traced.
    """

    def __init__(self, task: TableTask) -> None:
        super().__init__(task)
        request, speeds = task.request, task.writer.document.groups[task.number]
        self._group = task.planned.group
        ok = {row.id: row for row in speeds.cells if row.state == "ok"}
        self._rows = [_Traced(cell, effective=ok[cell.id].effective) for cell in self._group.cells if cell.id in ok]
        phases = [row.phases_ms for row in ok.values() if row.phases_ms is not None]
        self._starting_s = max((1e-3 * (each.ready or 0.0) for each in phases), default=0.0)
        spent_s = speeds.seconds if request.budget_s is None else 0.0  # the share of a budget is what is left of it
        self._rounds = task.rounds(len(self._rows), request.timing.budget - spent_s, batch=None, counted="row")
        self._setting = Setting(
            task.planned, request.timing, task.writer.logs, ReferenceOutputs(None, None), self._rounds.watch
        )
        self._python: str | None = None
        self._unread: Failure | None = None

    def measure(self) -> LaunchesStop:
        """Trace a row in each round, since a budget is asked before rounds."""
        if self._starting_s >= self._rounds.budget_s:
            stopped_by: LaunchesStop = "budget"  # the first round would run all the same
        else:
            self._make_environment()
            stopped_by = self._rounds.run(lambda: self._left[:1], self._trace, lambda: self.commit("unfinished"))
        if stopped_by == "budget":
            for row in self._left:
                row.state = "not-measured"
            return stopped_by
        return "launches" if any(row.state == "ok" for row in self._rows) else "failures"

    @property
    def _left(self) -> list[_Traced]:
        return [row for row in self._rows if row.state == "interrupted"]

    def _make_environment(self) -> None:
        try:
            self._python = build(XPROF, lambda _line: None).python
        except IrbenchError as error:
            self._unread = Failure("start", error.message.rstrip("."), error.hint or None)

    def _trace(self, row: _Traced) -> None:
        self._rounds.say(Activity("traced-steps", row.cell.label))
        try:
            trace = self._trace_of(row.cell)
        except CellFailed as failed:
            row.leave(failed.failure)
            return
        row.trace = self.task.writer.add_attachment(_FOLDER / row.cell.id / "steps.xplane.pb", trace)
        row.state = "ok"
        if self._python is not None:
            self._read(row, trace, self._python)

    def _trace_of(self, cell: Cell) -> bytes:
        with self._setting.worker(cell) as worker:
            worker.hold("irbench.worker.step_trace_host:StepTraceHost")
            worker.ask("import", "import_runtime")
            worker.ask("compile", "prepare", False)
            worker.ask("warm-up", "warm_up")
            trace: bytes = worker.ask("measure", "trace", self.task.request.traced_steps)
            return trace

    def _read(self, row: _Traced, trace: bytes, python: str) -> None:
        """Have xprof read a trace in a place of its own: it leaves files beside what it reads."""
        folder = self.task.scratch / row.cell.id
        folder.mkdir(parents=True)
        path = folder / "steps.xplane.pb"
        path.write_bytes(trace)
        target = "irbench.worker.xprof_reading:overview"
        try:
            page: str = call_in_worker(target, path, deadline_s=_READING_DEADLINE_S, python=python, returns=str)
            row.overview = overview_of(page)
        except (IrbenchError, ValueError) as error:
            why = error.message if isinstance(error, IrbenchError) else str(error)
            remedy = f"The trace is kept in the folder of the run: {row.trace}"
            row.leave(Failure("measure", f"xprof does not read the trace: {why.rstrip('.')}", remedy))

    def table(self, stopped_by: LaunchesStop) -> StepTraceTable:
        """Return the table of the traces so far."""
        main = self._group.main
        return StepTraceTable(
            table=self.task.number,
            model=main.bundle.name,
            batch=main.batch,
            shapes=bound_shapes(main),
            traced_steps=self.task.request.traced_steps,
            xprof_version=XPROF.version,
            stopped_by=stopped_by,
            seconds=self._rounds.watch.elapsed_s,
            unread=self._unread,
            rows=tuple(row.row(StepTraceRow, row.state, trace=row.trace, overview=row.overview) for row in self._rows),
        )
