"""Call each row for a long time, one row at a time, to see whether its memory grows or its calls become slower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from irbench.core.activity import Activity
from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.soak_row import SoakRow, SoakSeries, SoakStop, SoakTable
from irbench.measure.clock import Stopwatch
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runner.rounds import CellOutcome
from irbench.runner.rows_alone import attempted, leave_absent, require_right, verify_again, warmed_up
from irbench.runner.run_progress import Listener, Progress
from irbench.runner.workers import CellFailed, CellWorker, Setting, setting_of
from irbench.spec import SoakPlan
from irbench.stats.run_modes.soak import derive_soak_table
from irbench.stats.workload_facts import given_inputs, table_of
from irbench.store.runs import RunWriter
from irbench.system.signals import signals_deferred
from irbench.worker.cell import Warmed
from irbench.worker.cell_hosts import SoakBlock


def run(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, writer: RunWriter, listen: Listener
) -> RunDocument:
    """Soak the rows of the planned groups and return the document, which is also in the store.

    An interrupt ends the run; every block before it is in the document, whose last table says so.
    """
    writer.commit(replace(writer.document, tables_planned=len(groups)))
    for number, planned in enumerate(groups):
        table = _Soak(planned, request, scratch / f"group-{number}", writer, listen).run()
        if table.stopped_by == "interrupt":
            return writer.document
    return writer.commit(replace(writer.document, complete=True))


@dataclass
class _Soaked(CellOutcome):
    """A cell, and its series so far."""

    calls: list[int] = field(default_factory=list[int])
    elapsed_ns: list[int] = field(default_factory=list[int])
    median_ns: list[int] = field(default_factory=list[int])
    resident_bytes: list[int] = field(default_factory=list[int])

    def add(self, block: SoakBlock) -> None:
        """Append a block to the series."""
        if block.resident_bytes is None:
            raise CellFailed(Failure("measure", "the kernel does not report its memory", "Mount /proc to soak it."))
        self.calls.append(block.calls + (self.calls[-1] if self.calls else 0))
        self.elapsed_ns.append(block.wall_ns + (self.elapsed_ns[-1] if self.elapsed_ns else 0))
        self.median_ns.append(block.median_ns)
        self.resident_bytes.append(block.resident_bytes)

    def as_row(self) -> SoakRow:
        """Return the row of a table."""
        columns = map(tuple, (self.calls, self.elapsed_ns, self.median_ns, self.resident_bytes))
        return self.row(SoakRow, self.state, series=SoakSeries(*columns) if self.calls else None)


class _Soak:
    """Calls the cells of one table, one after the other, and keeps the store up to date."""

    def __init__(
        self, planned: PlannedGroup, request: RunRequest, scratch: Path, writer: RunWriter, listen: Listener
    ) -> None:
        assert request.soak is not None
        self._planned = planned
        self._group = planned.group
        self._request = request
        self._plan: SoakPlan = request.soak
        self._timing = request.timing
        self._scratch = scratch
        self._writer = writer
        self._listen = listen
        self._before = writer.document
        self._watch = Stopwatch()
        self._rows = [_Soaked(cell) for cell in self._group.cells]
        self._notes = planned.notes
        self._setting: Setting | None = None

    def run(self) -> SoakTable:
        """Soak every row and return the table; the store holds it too."""
        leave_absent(self._rows, self._planned.absent)
        try:
            self._say(Activity("expected-outputs"))
            self._setting = setting_of(self._planned, self._timing, self._writer.logs, self._scratch)
            for row in self._rows:
                if row.failure is None:
                    self._soak(row)
            stopped: SoakStop = "failures" if all(row.failure is not None for row in self._rows) else "finished"
            return self._commit(stopped)
        except KeyboardInterrupt:
            with signals_deferred():  # who interrupts once more must not lose what the first one kept
                return self._commit("interrupt")

    def _soak(self, row: _Soaked) -> None:
        assert self._setting is not None
        setting = self._setting
        self._notes = (*self._notes, *attempted(row, lambda: self._attempt(row, setting), setting))
        with signals_deferred():  # a row is told where and only where it is stored
            self._commit("unfinished")

    def _attempt(self, row: _Soaked, setting: Setting) -> None:
        """Soak a row with the form of its graph that it has."""
        self._say(Activity("compile-and-warm-up", row.cell.label))
        with setting.worker(row.cell) as worker:
            warmed = warmed_up(row, worker, setting, "irbench.worker.cell_hosts:SoakHost")
            self._call_in_blocks(row, worker, warmed, setting)
            verify_again(row, worker, setting, f"after {row.calls[-1]:,} calls")

    def _call_in_blocks(self, row: _Soaked, worker: CellWorker, warmed: Warmed, setting: Setting) -> None:
        samples = _samples_of_block(self._plan, warmed)
        expected_s = samples * warmed.calls_per_sample * warmed.completion_ns / 1e9
        watch = Stopwatch()
        while not self._is_done(row, watch.elapsed_s):
            self._say(Activity("soak", row.cell.label, block=len(row.calls) + 1))
            row.add(worker.ask("measure", "block", samples, extra_s=3 * expected_s))
            if setting.expected.outputs is not None:
                responses = worker.ask("second answer", "last_responses", len(row.calls), frozenset(row.right))
                require_right(row, responses, setting, lambda _: f"after {row.calls[-1]:,} calls")

    def _is_done(self, row: _Soaked, elapsed_s: float) -> bool:
        if self._plan.calls is None:
            return elapsed_s >= self._plan.seconds
        return bool(row.calls) and row.calls[-1] >= self._plan.calls

    def _commit(self, stopped_by: SoakStop) -> SoakTable:
        """Derive the table again and put it into the store's document."""
        expected = None if self._setting is None else self._setting.expected
        raw = table_of(
            SoakTable,
            self._group.main,
            growth_limit=self._plan.growth_limit,
            confidence=self._timing.confidence,
            stopped_by=stopped_by,
            rows=tuple(row.as_row() for row in self._rows),
            warnings=() if expected is None else expected.warnings,
            notes=self._notes,
            given_inputs=given_inputs(self._group.main.feeding),
            verified_against=None if expected is None else expected.source,
        )
        table = derive_soak_table(raw)
        self._writer.commit(replace(self._writer.document, soaks=(*self._before.soaks, table)))
        return table

    def _say(self, activity: Activity) -> None:
        ended = sum(row.state != "interrupted" for row in self._rows)
        self._listen(
            Progress(
                model=self._group.main.bundle.name,
                activity=activity,
                launch=min(ended + 1, len(self._rows)),
                most_launches=len(self._rows),
                elapsed_s=self._watch.elapsed_s,
                budget_s=None if self._plan.calls else self._plan.seconds * len(self._planned.measured),
                batch=self._group.main.batch if len(self._request.batches or ()) > 1 else None,
                counted="row",
            )
        )


def _samples_of_block(plan: SoakPlan, warmed: Warmed) -> int:
    """Return how many samples a block takes, so that a row has about as many blocks as planned."""
    calls = plan.calls if plan.calls is not None else plan.seconds * 1e9 / warmed.completion_ns
    return max(1, math.ceil(calls / plan.blocks / warmed.calls_per_sample))
