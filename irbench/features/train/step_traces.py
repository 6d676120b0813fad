"""Steps of the rows of a table, traced after these were measured, and read by xprof."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from irbench.core.activity import Activity
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.row import LaunchesStop
from irbench.core.training_row import StepOverview, StepTraceRow, StepTraceTable
from irbench.environments.building import build
from irbench.environments.runtime_sources import Release
from irbench.errors import IrbenchError
from irbench.features.train.xprof_overview import overview_of
from irbench.runner.plan import PlannedGroup
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.request import RunRequest
from irbench.runner.rounds import CellOutcome, Rounds
from irbench.runner.run_progress import Listener
from irbench.runner.workers import CellFailed, Setting
from irbench.spec import Cell
from irbench.stats.workload_facts import bound_shapes
from irbench.store.runs import RunWriter
from irbench.system.signals import signals_deferred
from irbench.worker import call_in_worker

XPROF = Release("xprof", "2.24.2")
"""Reads traces of TensorFlow 2.21; what its page is made of may change with any version."""
TRACED_STEPS = 12
"""xprof leaves out the first and the last."""
_FOLDER = Path("traces", "plugins", "profile")
"""Below it TensorBoard and ``xprof --logdir traces`` look for a folder of each trace."""
_READING_DEADLINE_S = 120.0


def run(
    request: RunRequest, groups: tuple[PlannedGroup, ...], scratch: Path, writer: RunWriter, listen: Listener
) -> RunDocument:
    """Trace steps of the rows that were measured, and return the document, which is also in the store.

    They have what measuring left of the budget; rows for which it has no time are not traced. An interrupt ends the
    run; what was traced is in the document, whose table says so.
    """
    (planned,) = groups
    table = _StepTraces(planned, request, scratch / "traces", writer, listen).run()
    if table.stopped_by == "interrupt":
        return writer.document
    return writer.commit(replace(writer.document, complete=True))


@dataclass(kw_only=True)
class _Traced(CellOutcome):
    """A cell, and its trace."""

    trace: str = ""
    overview: StepOverview | None = None


class _StepTraces:
    """Traces the rows of a table, each in a launch of its own."""

    def __init__(
        self, planned: PlannedGroup, request: RunRequest, scratch: Path, writer: RunWriter, listen: Listener
    ) -> None:
        self._group, self._steps = planned.group, request.traced_steps
        self._scratch, self._writer = scratch, writer
        (speeds,) = writer.document.groups
        ok = {row.id: row for row in speeds.cells if row.state == "ok"}
        self._rows = [_Traced(cell, effective=ok[cell.id].effective) for cell in self._group.cells if cell.id in ok]
        phases = [row.phases_ms for row in ok.values() if row.phases_ms is not None]
        self._starting_s = max((1e-3 * (each.ready or 0.0) for each in phases), default=0.0)
        self._rounds = Rounds(
            model=self._group.main.bundle.name,
            most=len(self._rows),
            budget_s=request.timing.budget - speeds.seconds,
            seed=f"traces/{request.seed}",
            listen=listen,
            counted="row",
        )
        self._setting = Setting(planned, request.timing, writer.logs, ReferenceOutputs(None, None), self._rounds.watch)
        self._python: str | None = None
        self._unread: Failure | None = None

    def run(self) -> StepTraceTable:
        """Trace and return the table; the store holds it too."""
        stopped_by: LaunchesStop = "interrupt"
        with suppress(KeyboardInterrupt):
            stopped_by = self._trace_all()
        with signals_deferred():  # who interrupts once more must not lose what the first one kept
            return self._commit(stopped_by)

    def _trace_all(self) -> LaunchesStop:
        """Trace a row in each round, since a budget is asked before rounds, and return why it ended."""
        if self._starting_s >= self._rounds.budget_s:
            stopped_by: LaunchesStop = "budget"  # the first round would run all the same
        else:
            self._make_environment()
            stopped_by = self._rounds.run(lambda: self._left[:1], self._trace, lambda: self._commit("unfinished"))
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
        row.trace = self._writer.add_attachment(_FOLDER / row.cell.id / "steps.xplane.pb", trace)
        row.state = "ok"
        if self._python is not None:
            self._read(row, trace, self._python)

    def _trace_of(self, cell: Cell) -> bytes:
        with self._setting.worker(cell) as worker:
            worker.hold("irbench.worker.step_trace_host:StepTraceHost")
            worker.ask("import", "import_runtime")
            worker.ask("compile", "prepare", False)
            worker.ask("warm-up", "warm_up")
            trace: bytes = worker.ask("measure", "trace", self._steps)
            return trace

    def _read(self, row: _Traced, trace: bytes, python: str) -> None:
        """Have xprof read a trace in a place of its own: it leaves files beside what it reads."""
        folder = self._scratch / row.cell.id
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

    def _commit(self, stopped_by: LaunchesStop) -> StepTraceTable:
        main = self._group.main
        table = StepTraceTable(
            table=0,
            model=main.bundle.name,
            batch=main.batch,
            shapes=bound_shapes(main),
            traced_steps=self._steps,
            xprof_version=XPROF.version,
            stopped_by=stopped_by,
            seconds=self._rounds.watch.elapsed_s,
            unread=self._unread,
            rows=tuple(row.row(StepTraceRow, row.state, trace=row.trace, overview=row.overview) for row in self._rows),
        )
        self._writer.commit(replace(self._writer.document, step_traces=(table,)))
        return table
