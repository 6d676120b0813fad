"""Count what the rows of a table do, in launches of their own after its speeds were measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from irbench.core.activity import Activity
from irbench.core.counter_row import (
    CountedLaunch,
    CounterRow,
    CounterTable,
    PhaseCounts,
    PhaseTimeline,
    TimelineStop,
    counted_with,
)
from irbench.core.record import Failure, Stage
from irbench.core.row import LaunchesStop
from irbench.measure.clock import Stopwatch
from irbench.measure.perf_stat import CountingFailed, PerfStat, TopLev
from irbench.perf_events.counter_plan import Counting
from irbench.perf_events.obstacles import Obstacle, Said, ToplevFailed
from irbench.perf_events.perf_output import CountedPhase, PerfReading, read_intervals, read_perf
from irbench.perf_events.topdown import shares_of
from irbench.runner.continuation import as_begun
from irbench.runner.neighbours import Neighbours, neighbour_tasks
from irbench.runner.reference import ReferenceOutputs
from irbench.runner.rounds import CellOutcome
from irbench.runner.workers import CellFailed, CellWorker, Setting
from irbench.runs.mode_tables import ModeTable, TableTask
from irbench.spec import Cell
from irbench.stats.counter_figures import derive_counter_table
from irbench.stats.workload_facts import bound_shapes
from irbench.worker.cell import PreparedSession, Warmed
from irbench.worker.cell_hosts import SoakBlock

_COUNTED_NS = 5e8
"""What the counted inferences of a launch take together."""
_FEWEST_INFERENCES = 5
_SLOWDOWN = 5
"""How much longer calls may take than was foreseen before their worker counts as hanging."""
_STAGES: Mapping[CountedPhase, Stage] = {
    "import": "import",
    "compile": "compile",
    "warm_up": "warm-up",
    "inference": "measure",
}


@dataclass
class CountedPhases:
    """What counting the phases of a launch gave: counts, a timeline of steps, and why toplev reported no nodes."""

    counts: dict[CountedPhase, PhaseCounts] = field(default_factory=dict[CountedPhase, PhaseCounts])
    timeline: list[PhaseTimeline] = field(default_factory=list[PhaseTimeline])
    nodes_missing: Obstacle | None = None


def count_cell(cell: Cell, setting: Setting, counting: Counting, folder: Path) -> CountedPhases:
    """Start a cell, count each of its phases, and end it."""
    return _Launch(cell, setting, counting, folder, None).run()


def timeline_of_cell(
    cell: Cell, setting: Setting, counting: Counting, folder: Path, step_ms: int
) -> tuple[PhaseTimeline, ...]:
    """Start a cell once more, and return what was counted in each step of its phases; raises as :func:`count_cell`.

    Reading the counters that often takes time of its own, so such a launch is not a sample of latency.
    """
    return tuple(_Launch(cell, setting, counting, folder, step_ms).run().timeline)


class _Launch:
    def __init__(self, cell: Cell, setting: Setting, counting: Counting, folder: Path, step_ms: int | None) -> None:
        self._cell = cell
        self._setting = setting
        self._counting = counting
        self._folder = folder
        self._step_ms = step_ms
        self._phases = CountedPhases()

    def run(self) -> CountedPhases:
        with self._setting.worker(self._cell) as worker:
            worker.hold("irbench.worker.cell_hosts:SoakHost")
            self._count(worker, "import", lambda: worker.ask("import", "import_runtime"))
            prepared: PreparedSession = self._count(worker, "compile", lambda: worker.ask("compile", "prepare", False))
            timing = self._setting.timing
            extra_s = _SLOWDOWN * (timing.warm_up + timing.warm_up_calls * prepared.first_inference_s)
            warmed: Warmed = self._count(worker, "warm_up", lambda: worker.ask("warm-up", "warm_up", extra_s=extra_s))
            self._infer(worker, warmed)
        return self._phases

    def _infer(self, worker: CellWorker, warmed: Warmed) -> None:
        sample_ns = warmed.calls_per_sample * warmed.completion_ns
        samples = max(_FEWEST_INFERENCES, math.ceil(_COUNTED_NS / sample_ns))
        take = partial(worker.ask, "measure", "block", samples, extra_s=_SLOWDOWN * samples * sample_ns / 1e9)
        with self._beside(take) as infer:
            self._count(worker, "inference", infer)
            if self._counting.toplev is not None and self._step_ms is None:
                self._count_deeper(worker, infer)

    @contextmanager
    def _beside(self, action: Callable[[], SoakBlock]) -> Iterator[Callable[[], SoakBlock]]:
        """Start what runs beside the cell, and let it work only while the action is done."""
        setting, neighbour = self._setting, self._cell.load.beside
        if neighbour is None:
            yield action
            return
        tasks = neighbour_tasks(setting.planned, setting.timing)
        with closing(Neighbours((neighbour,), tasks, setting.logs, lambda: setting.deadline)) as neighbours:
            neighbours.start()
            yield lambda: neighbours.beside(neighbour, action)[0]

    def _count(self, worker: CellWorker, phase: CountedPhase, action: Callable[[], Any]) -> Any:
        """Do something in the worker while the counters run, and keep what they came to."""
        if not self._counting.arguments:
            return action()
        try:
            with PerfStat(self._counting, worker.process_id, self._folder / phase, self._step_ms) as perf:
                perf.enable()
                answer = action()
                perf.disable()
                self._keep(phase, perf.finish(), answer.calls if isinstance(answer, SoakBlock) else 0)
        except CountingFailed as failed:
            raise CellFailed(Failure(_STAGES[phase], f"perf cannot count it: {failed}")) from failed
        return answer

    def _keep(self, phase: CountedPhase, text: str, inferences: int) -> None:
        if self._step_ms is not None:
            self._phases.timeline.append(_timeline(phase, read_intervals(text), self._counting))
            return
        reading = read_perf(text)
        shares = {} if self._counting.topdown is None else shares_of(reading, self._counting.topdown)
        self._phases.counts[phase] = PhaseCounts(self._counting.counts(reading), shares, inferences)

    def _count_deeper(self, worker: CellWorker, action: Callable[[], SoakBlock]) -> None:
        """Have toplev attached during as many inferences once more."""
        assert self._counting.toplev is not None
        assert self._counting.level is not None
        program, level = self._counting.toplev, self._counting.level
        try:
            with TopLev(program, level, worker.process_id, self._folder / "toplev") as toplev:
                block = action()
                nodes = toplev.nodes()
        except CountingFailed as failed:
            self._leave_out_nodes(failed)
            return
        before = self._phases.counts.get("inference", PhaseCounts({}, {}, block.calls))
        self._phases.counts["inference"] = PhaseCounts(before.events, {**before.shares, **nodes}, before.inferences)

    def _leave_out_nodes(self, failed: CountingFailed) -> None:
        """Keep why toplev failed beside what perf counted; without that, the launch has counted nothing."""
        if not self._counting.arguments:
            raise CellFailed(Failure("measure", f"toplev cannot count it: {failed}")) from failed
        self._phases.nodes_missing = ToplevFailed(Said(str(failed)))


def _timeline(phase: CountedPhase, steps: tuple[tuple[float, PerfReading], ...], counting: Counting) -> PhaseTimeline:
    counts = [counting.counts(reading) for _, reading in steps]
    ends_s = (0.0, *(end_s for end_s, _ in steps))
    return PhaseTimeline(
        phase,
        tuple(later - earlier for earlier, later in pairwise(ends_s)),
        {event: tuple(step[event].value for step in counts) for event in counting.events},
    )


@dataclass(kw_only=True)
class _Counted(CellOutcome):
    """A cell, and its launches."""

    launches: list[CountedLaunch] = field(default_factory=list[CountedLaunch])
    timeline: tuple[PhaseTimeline, ...] = ()
    timeline_failure: Failure | None = None

    def as_row(self) -> CounterRow:
        """Return the row of a table."""
        state = self.state if self.failure or self.launches else "interrupted"
        timeline = {"timeline": self.timeline, "timeline_failure": self.timeline_failure}
        return self.row(CounterRow, state, launches=tuple(self.launches), **timeline)


class Counters(ModeTable[CounterTable]):
    """Launches the rows of one table in rounds until there are enough, or the time is up."""

    def __init__(self, task: TableTask) -> None:
        super().__init__(task)
        assert task.request.counting is not None
        self._counting: Counting = task.request.counting
        speeds = task.writer.document.groups[task.number]
        (planned,) = as_begun([task.planned], [speeds])
        self._group = planned.group
        self._timing = task.request.timing
        self._rounds = task.rounds(
            self._counting.plan.launches,
            self._timing.budget,
            rounds_ahead=1 if self._counting.plan.timeline_ms is None else 2,  # the timelines are one more
        )
        ok = {row.id: row for row in speeds.cells if row.state == "ok"}
        self._rows = [_Counted(cell, effective=ok[cell.id].effective) for cell in self._group.cells if cell.id in ok]
        # answers were compared with the expected ones when speeds were measured
        unverified, watch = ReferenceOutputs(None, None), self._rounds.watch
        self._setting = Setting(planned, self._timing, task.writer.logs, unverified, watch)
        self._files = count()
        self._longest_launch_s = 0.0
        self._launches_stopped_by: LaunchesStop | None = None
        self._timelines_stopped_by: TimelineStop | None = None

    def measure(self) -> LaunchesStop:
        """Count the rows in rounds, then take their timelines."""
        for row in self._rows:
            if row.cell.program is not None and row.cell.program.kind == "command":
                row.leave(Failure("plan", "A command of your own runs in a process that irbench does not follow"))
        stopped_by = self._rounds.run(lambda: self._able, self._launch, lambda: self.commit("unfinished"))
        self._launches_stopped_by = stopped_by
        self._timelines_stopped_by = self._take_timelines()
        return stopped_by

    @property
    def ends_run(self) -> bool:
        """Whether its timelines were interrupted."""
        return self._timelines_stopped_by == "interrupt"

    @property
    def _able(self) -> list[_Counted]:
        return [row for row in self._rows if row.failure is None]

    def _launch(self, row: _Counted) -> None:
        self._rounds.say(Activity("counted-launch", row.cell.label))
        watch = Stopwatch()
        try:
            phases: CountedPhases = count_cell(row.cell, self._setting, self._counting, self._folder())
        except CellFailed as failed:
            row.leave(failed.failure, failed.output_error)
            return
        row.launches.append(CountedLaunch(self._rounds.finished, phases.counts, phases.nodes_missing))
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
        return self.task.scratch / str(next(self._files))

    def table(self, stopped_by: LaunchesStop) -> CounterTable:
        """Return the table, derived from the launches so far."""
        counting, main = self._counting, self._group.main
        if stopped_by == "interrupt" and self._launches_stopped_by is not None:
            stopped_by, self._timelines_stopped_by = self._launches_stopped_by, "interrupt"
        return derive_counter_table(
            counted_with(
                CounterTable,
                counting,
                table=self.task.number,
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
                rows=tuple(row.as_row() for row in self._rows),
            )
        )
