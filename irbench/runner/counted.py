"""Count what the rows of a table do, in launches of their own after its speeds were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from irbench.activity import Activity
from irbench.counter_row import (
    CountedLaunch,
    CounterRow,
    CounterTable,
    PhaseTimeline,
    TimelineStop,
    counted_with,
)
from irbench.counters import Counting
from irbench.measure.clock import Stopwatch
from irbench.record import Failure
from irbench.result import GroupResult
from irbench.row import LaunchesStop
from irbench.runner.cell_outcome import CellOutcome
from irbench.runner.cell_worker import CellFailed, Setting
from irbench.runner.continuation import as_begun
from irbench.runner.counted_launch import CountedPhases, count_cell, timeline_of_cell
from irbench.runner.plan import PlannedGroup
from irbench.runner.progress import Listener
from irbench.runner.reference import Expected
from irbench.runner.request import RunRequest
from irbench.runner.rounds import Rounds
from irbench.runner.signals import signals_deferred
from irbench.spec import Cell
from irbench.stats.counters import derive_counter_table
from irbench.stats.workload_facts import bound_shapes
from irbench.store import RunWriter

_ENDED_EARLY = ("interrupt", "unfinished")


def count_tables(
    request: RunRequest, groups: Sequence[PlannedGroup], scratch: Path, writer: RunWriter, listen: Listener
) -> bool:
    """Count the rows of every table that has none, and put that into the store's document.

    Args:
        request: What was asked for; it says what is counted.
        groups: Those whose speeds the document holds.
        scratch: A folder that is gone after the run.
        writer: An open run of the store; tables of counters that it has are finished.
        listen: Receives progress, between launches only.

    Returns:
        Whether all tables are counted; an interrupt ends the rest, unless only timelines were left.

    Raises:
        IrbenchError: The store cannot be written.
    """
    finished = tuple(table for table in writer.document.counters if table.stopped_by not in _ENDED_EARLY)
    writer.commit(replace(writer.document, counters=finished))
    timed_s = sum(table.seconds for table in writer.document.groups)
    watch = Stopwatch(timed_s + sum(table.seconds for table in finished))
    for number, speeds in list(enumerate(writer.document.groups))[len(finished) :]:
        share = request.with_budget_for(1, len(groups) - number, watch.elapsed_s)
        (planned,) = as_begun([groups[number]], [speeds])
        table = _Measurement(planned, speeds, number, share, scratch / f"counted-{number}", writer, listen).run()
        is_last = number + 1 == len(groups)
        if table.stopped_by == "interrupt" or (table.timelines_stopped_by == "interrupt" and not is_last):
            return False
    return True


@dataclass(kw_only=True)
class _Counted(CellOutcome):
    """A cell, and its launches."""

    launches: list[CountedLaunch] = field(default_factory=list[CountedLaunch])
    timeline: tuple[PhaseTimeline, ...] = ()
    timeline_failure: Failure | None = None


class _Measurement:
    """Launches the rows of one table in rounds until there are enough, or the time is up."""

    def __init__(
        self,
        planned: PlannedGroup,
        speeds: GroupResult,
        number: int,
        request: RunRequest,
        scratch: Path,
        writer: RunWriter,
        listen: Listener,
    ) -> None:
        assert request.counting is not None
        self._counting: Counting = request.counting
        self._group = planned.group
        self._number = number
        self._timing = request.timing
        self._scratch = scratch
        self._writer = writer
        self._before = writer.document.counters
        self._rounds = Rounds(
            model=self._group.main.bundle.name,
            most=self._counting.plan.launches,
            budget_s=request.timing.budget,
            seed=f"counters/{request.seed}/{number}",
            listen=listen,
            rounds_ahead=1 if self._counting.plan.timeline_ms is None else 2,  # the timelines are one more
            batch=self._group.main.batch if len(request.batches or ()) > 1 else None,
        )
        ok = {row.id: row for row in speeds.cells if row.state == "ok"}
        self._rows = [_Counted(cell, effective=ok[cell.id].effective) for cell in self._group.cells if cell.id in ok]
        # answers were compared with the expected ones when speeds were measured
        self._setting = Setting(planned, request.timing, writer.logs, Expected(None, None), self._rounds.watch)
        self._files = count()
        self._longest_launch_s = 0.0
        self._stopped_by: LaunchesStop = "interrupt"
        self._timelines_stopped_by: TimelineStop | None = None

    def run(self) -> CounterTable:
        """Count and return the table; the store holds it too."""
        self._scratch.mkdir(parents=True, exist_ok=True)
        for row in self._rows:
            if _is_command(row.cell):
                row.leave(Failure("plan", "A command of your own runs in a process that irbench does not follow"))
        try:
            self._stopped_by = self._rounds.run(lambda: self._able, self._launch, lambda: self._commit("unfinished"))
            self._timelines_stopped_by = self._take_timelines()
        except KeyboardInterrupt:
            if self._stopped_by != "interrupt":
                self._timelines_stopped_by = "interrupt"
        with signals_deferred():  # who interrupts once more must not lose what the first one kept
            return self._commit(self._stopped_by)

    @property
    def _able(self) -> list[_Counted]:
        return [row for row in self._rows if row.failure is None]

    def _launch(self, row: _Counted) -> None:
        self._rounds.say(Activity("counted-launch", row.cell.label))
        watch = Stopwatch()
        try:
            found: CountedPhases = count_cell(row.cell, self._setting, self._counting, self._folder())
        except CellFailed as failed:
            row.leave(failed.failure, failed.output_error)
            return
        row.launches.append(CountedLaunch(self._rounds.finished, found.counts, found.nodes_missing))
        row.state = "ok"
        self._longest_launch_s = max(self._longest_launch_s, watch.elapsed_s)

    def _take_timelines(self) -> TimelineStop | None:
        """Launch each counted row once more for its timeline; one that fails has its reason, and keeps its counts."""
        step_ms = self._counting.plan.timeline_ms
        for row in self._able if step_ms is not None else ():
            if self._rounds.watch.elapsed_s + self._longest_launch_s > self._timing.budget:
                return "budget"
            self._rounds.say(Activity("counted-launch", row.cell.label))
            try:
                row.timeline = timeline_of_cell(row.cell, self._setting, self._counting, self._folder(), step_ms or 0)
            except CellFailed as failed:
                row.timeline_failure = failed.failure
        return None

    def _folder(self) -> Path:
        return self._scratch / str(next(self._files))

    def _commit(self, stopped_by: LaunchesStop) -> CounterTable:
        """Derive the table anew from the launches and put it into the store's document."""
        counting, main = self._counting, self._group.main
        table = derive_counter_table(
            counted_with(
                CounterTable,
                counting,
                table=self._number,
                model=main.bundle.name,
                batch=main.batch,
                shapes=bound_shapes(main),
                rounds=self._rounds.finished,
                preview=True,
                confidence=self._timing.confidence,
                stopped_by=stopped_by,
                seconds=self._rounds.watch.elapsed_s,
                timeline_ms=counting.plan.timeline_ms,
                timelines_stopped_by=self._timelines_stopped_by,
                rows=tuple(map(_row, self._rows)),
            )
        )
        self._writer.commit(replace(self._writer.document, counters=(*self._before, table)))
        return table


def _is_command(cell: Cell) -> bool:
    return cell.program is not None and cell.program.kind == "command"


def _row(counted: _Counted) -> CounterRow:
    return counted.row(
        CounterRow,
        counted.state if counted.failure or counted.launches else "interrupted",
        launches=tuple(counted.launches),
        timeline=counted.timeline,
        timeline_failure=counted.timeline_failure,
    )
