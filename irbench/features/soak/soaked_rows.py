"""Call each row for a long time, one row at a time, to see whether its memory grows or its calls become slower."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from irbench.core.activity import Activity
from irbench.core.record import Failure
from irbench.core.soak_row import SoakRow, SoakSeries, SoakStop, SoakTable
from irbench.measure.clock import Stopwatch
from irbench.runner.rounds import CellOutcome
from irbench.runner.rows_alone import attempted, leave_absent, require_right, verify_again, warmed_up
from irbench.runner.run_progress import Progress
from irbench.runner.workers import CellFailed, CellWorker, Setting, setting_of
from irbench.runs.mode_tables import ModeTable, TableTask
from irbench.spec import SoakPlan
from irbench.stats.run_modes.soak import derive_soak_table
from irbench.stats.workload_facts import given_inputs, table_of
from irbench.system.signals import signals_deferred
from irbench.worker.cell import Warmed
from irbench.worker.cell_hosts import SoakBlock


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


class Soak(ModeTable[SoakTable]):
    """Calls the cells of one table, one after the other."""

    def __init__(self, task: TableTask) -> None:
        super().__init__(task)
        assert task.request.soak is not None
        self._plan: SoakPlan = task.request.soak
        self._group = task.planned.group
        self._watch = Stopwatch()
        self._rows = [_Soaked(cell) for cell in self._group.cells]
        self._notes = task.planned.notes
        self._setting: Setting | None = None

    def measure(self) -> SoakStop:
        """Soak every row."""
        task = self.task
        leave_absent(self._rows, task.planned.absent)
        self._say(Activity("expected-outputs"))
        self._setting = setting_of(task.planned, task.request.timing, task.writer.logs, task.scratch)
        for row in self._rows:
            if row.failure is None:
                self._soak(row)
        return "failures" if all(row.failure is not None for row in self._rows) else "finished"

    def _soak(self, row: _Soaked) -> None:
        assert self._setting is not None
        setting = self._setting
        self._notes = (*self._notes, *attempted(row, lambda: self._attempt(row, setting), setting))
        with signals_deferred():  # a row is told where and only where it is stored
            self.commit("unfinished")

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

    def table(self, stopped_by: SoakStop) -> SoakTable:
        """Return the table of the blocks so far."""
        expected = None if self._setting is None else self._setting.expected
        raw = table_of(
            SoakTable,
            self._group.main,
            growth_limit=self._plan.growth_limit,
            confidence=self.task.request.timing.confidence,
            stopped_by=stopped_by,
            rows=tuple(row.as_row() for row in self._rows),
            warnings=() if expected is None else expected.warnings,
            notes=self._notes,
            given_inputs=given_inputs(self._group.main.feeding),
            verified_against=None if expected is None else expected.source,
        )
        return derive_soak_table(raw)

    def _say(self, activity: Activity) -> None:
        ended = sum(row.state != "interrupted" for row in self._rows)
        self.task.listen(
            Progress(
                model=self._group.main.bundle.name,
                activity=activity,
                launch=min(ended + 1, len(self._rows)),
                most_launches=len(self._rows),
                elapsed_s=self._watch.elapsed_s,
                budget_s=None if self._plan.calls else self._plan.seconds * len(self.task.planned.measured),
                batch=self.task.batch,
                counted="row",
            )
        )


def _samples_of_block(plan: SoakPlan, warmed: Warmed) -> int:
    """Return how many samples a block takes, so that a row has about as many blocks as planned."""
    calls = plan.calls if plan.calls is not None else plan.seconds * 1e9 / warmed.completion_ns
    return max(1, math.ceil(calls / plan.blocks / warmed.calls_per_sample))
