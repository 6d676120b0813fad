"""Profile the operators of every cell: launches of instrumented workers, each beside one without instruments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from irbench.core.activity import Activity
from irbench.core.record import OutputError
from irbench.core.row import LaunchesStop
from irbench.features.profile.launches import Launch, disturbance_warnings, with_launch
from irbench.features.profile.record import Disturbance, ProfiledCell, ProfileDocument
from irbench.measure.disturbances import MachineSnapshot, foreign_cpu_ns, snapshot
from irbench.notices import Note
from irbench.runner.plan import PlannedGroup, refusal_note
from irbench.runner.progress import Listener
from irbench.runner.reference import worse
from irbench.runner.request import RunRequest
from irbench.runner.rounds import Rounds
from irbench.runner.workers import (
    CellFailed,
    CellWorker,
    Setting,
    checked,
    checked_turns,
    runnable_form,
    setting_of,
)
from irbench.spec import Cell
from irbench.stats.blocks import processors_in_use
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.system import host
from irbench.system.signals import signals_deferred
from irbench.worker.cell import Prepared, Warmed
from irbench.worker.profile_host import MOST_CALLS, ProfiledRun


def profile_cell(cell: Cell, setting: Setting, inferences: int) -> tuple[ProfiledRun, OutputError | None]:
    """Compile a cell with its runtime's recording switched on, check its answers, and profile it.

    Args:
        cell: It makes one inference at a time.
        setting: Of its table.
        inferences: How many are profiled at least.

    Returns:
        The profiled inferences, and how far the answers are from the reference; ``None`` where there is none.

    Raises:
        CellFailed: Its backend cannot profile it, its answers are wrong, or its worker failed in another way.
    """
    with setting.worker(cell) as worker:
        worker.hold("irbench.worker.profile_host:ProfileHost")
        worker.ask("import", "import_runtime")
        prepared: Prepared = worker.ask("compile", "prepare", setting.expected.outputs is not None)
        error = worse(checked(cell, prepared, setting), checked_turns(worker, "verify", prepared, setting))
        warmed: Warmed = worker.ask("warm-up", "warm_up")
        expected_s = max(inferences, MOST_CALLS) * warmed.call_ns / 1e9
        run: ProfiledRun = worker.ask("measure", "profile", inferences, extra_s=3 * expected_s)
        return run, error


def disturbance_between(before: MachineSnapshot, after: MachineSnapshot, processors: int) -> Disturbance:
    """Return what else happened on the machine during a launch.

    Args:
        before: What was seen before it.
        after: What was seen after it, on the same processors.
        processors: How many processors the cell uses.
    """
    return Disturbance(after.at_ns - before.at_ns, foreign_cpu_ns(before, after), processors)


Keep: TypeAlias = Callable[[ProfileDocument], None]
"""Stores a profile after each launch."""


@dataclass(frozen=True)
class ProfilePlan:
    """How long a profile takes.

    Attributes:
        launches: Launches of each cell.
        inferences: Inferences that are profiled in each launch, at least.
        budget_s: No launch begins that would end later, judged by the longest one before; the first always runs.
            Where counters are asked for, they have half of it.
        counted_launches: Counted launches of each model, where counters are asked for.
    """

    launches: int = 4
    inferences: int = 20
    budget_s: float = 300.0
    counted_launches: int = FEWEST_LAUNCHES


@dataclass(frozen=True)
class ProfileTask:
    """What is profiled, and where workers write.

    Attributes:
        request: What was asked for.
        planned: The table.
        plan: How long it takes.
        scratch: A folder that is gone afterwards.
        logs: Where workers write what they print.
    """

    request: RunRequest
    planned: PlannedGroup
    plan: ProfilePlan
    scratch: Path
    logs: Path


def profile(task: ProfileTask, begun: ProfileDocument, listen: Listener, keep: Keep) -> ProfileDocument:
    """Profile every cell of a table that can run, and return the document with its launches.

    An interrupt ends it; every finished launch of a cell is in the document.

    Args:
        task: What is profiled.
        begun: The document, with a cell for each of the table's.
        listen: Receives progress, between launches only.
        keep: Stores the document after each launch.
    """
    return _Profiling(task, begun, listen, keep).run()


@dataclass
class _Candidate:
    """A cell, and what was recorded of it."""

    cell: Cell
    profiled: ProfiledCell

    def leave(self, failed: CellFailed) -> None:
        self.profiled = replace(
            self.profiled, failure=failed.failure, output_error=failed.output_error or self.profiled.output_error
        )


class _NotProfiled(CellFailed):
    """A cell that runs its graph, but not where its operators are recorded."""


class _Profiling:
    def __init__(self, task: ProfileTask, begun: ProfileDocument, listen: Listener, keep: Keep) -> None:
        self._task = task
        self._document = begun
        self._keep = keep
        self._rounds = Rounds(
            model=begun.model,
            most=task.plan.launches,
            budget_s=task.plan.budget_s,
            seed=f"profile/{task.request.seed}",
            listen=listen,
            counted="launch",
        )
        cells = task.planned.group.cells
        self._candidates = [_Candidate(cell, found) for cell, found in zip(cells, begun.cells, strict=True)]
        self._notes: tuple[Note, ...] = begun.notes
        self._setting: Setting | None = None
        self._cpus = host.allowance(task.request.cpus).cpus

    def run(self) -> ProfileDocument:
        """Launch until there are enough launches, or the time is up."""
        try:
            self._rounds.say(Activity("expected-outputs"))
            task = self._task
            self._setting = setting_of(task.planned, task.request.timing, task.logs, task.scratch)
            stopped_by: LaunchesStop = self._rounds.run(
                lambda: self._able, self._take, lambda: self._commit("unfinished")
            )
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        with signals_deferred():  # who interrupts once more must not lose what the first one kept
            self._commit(stopped_by)
        return self._document

    @property
    def _able(self) -> list[_Candidate]:
        return [candidate for candidate in self._candidates if candidate.profiled.failure is None]

    def _take(self, candidate: _Candidate) -> None:
        """Launch a cell, in its first launch with the other form of its graph where it refuses the planned one."""
        assert self._setting is not None
        setting = self._setting
        failed = self._attempt(candidate, setting)
        other = None
        if failed is not None and not (candidate.profiled.launches or isinstance(failed, _NotProfiled)):
            other = runnable_form(candidate.cell, failed, setting)
        if failed is not None and other is not None:
            self._notes = (*self._notes, refusal_note(candidate.cell, failed.failure.message))
            candidate.cell = other
            candidate.profiled = replace(candidate.profiled, label=other.label)
            failed = self._attempt(candidate, setting)
        if failed is not None:
            candidate.leave(failed)

    def _attempt(self, candidate: _Candidate, setting: Setting) -> CellFailed | None:
        self._rounds.say(Activity("profile", candidate.cell.label))
        try:
            candidate.profiled = self._profiled(candidate, setting)
        except CellFailed as failed:
            return failed
        return None

    def _profiled(self, candidate: _Candidate, setting: Setting) -> ProfiledCell:
        """Time a session without profiling, before and after one with it, and return the cell with both."""
        cell, plain_ns, before = candidate.cell, list[int](), snapshot(self._cpus)
        with setting.worker(cell) as plain:
            calls = self._prepare(plain, candidate, setting)
            plain_ns += timed_plainly(plain, calls)
            plain.freeze()
            run, error = self._instrumented(cell, setting)
            plain.thaw()
            plain_ns += timed_plainly(plain, calls)
        processors = processors_in_use([cell], len(self._cpus))
        disturbance = disturbance_between(before, snapshot(self._cpus), processors)
        launch = Launch(
            self._rounds.finished, run.latency_ns, tuple(plain_ns), run.profiles, disturbance, run.copies_ns
        )
        found = with_launch(candidate.profiled, launch)
        return replace(found, effective=run.effective, output_error=worse(found.output_error, error))

    def _instrumented(self, cell: Cell, setting: Setting) -> tuple[ProfiledRun, OutputError | None]:
        try:
            return profile_cell(cell, setting, self._task.plan.inferences)
        except CellFailed as failed:
            raise _NotProfiled(failed.failure, failed.output_error) from failed

    def _prepare(self, plain: CellWorker, candidate: _Candidate, setting: Setting) -> _Calls:
        """Compile, check the answers in the first launch, warm up, and return what is timed."""
        is_first = not candidate.profiled.launches
        plain.hold("irbench.worker.profile_host:PlainHost")
        plain.ask("import", "import_runtime")
        prepared: Prepared = plain.ask("compile", "prepare", is_first and setting.expected.outputs is not None)
        if is_first:
            checked(candidate.cell, prepared, setting)
        warmed: Warmed = plain.ask("warm-up", "warm_up")
        in_time = math.ceil(setting.timing.warm_up * 1e9 / warmed.call_ns)
        calls = max(self._task.plan.inferences, min(MOST_CALLS, in_time))
        return _Calls(math.ceil(calls / 2), warmed.call_ns)

    def _commit(self, stopped_by: LaunchesStop) -> None:
        expected = None if self._setting is None else self._setting.expected
        cells = tuple(candidate.profiled for candidate in self._candidates)
        of_answers = () if expected is None else expected.warnings
        self._document = replace(
            self._document,
            cells=cells,
            stopped_by=stopped_by,
            seconds=self._rounds.watch.elapsed_s,
            notes=self._notes,
            warnings=(*disturbance_warnings(cells), *of_answers),
            verified_against=None if expected is None else expected.source,
        )
        self._keep(self._document)


@dataclass(frozen=True)
class _Calls:
    """What is timed at once: so many calls, each of about so many nanoseconds."""

    count: int
    call_ns: float


def timed_plainly(plain: CellWorker, calls: _Calls) -> list[int]:
    """Return how long calls of a session take that is not profiled, in nanoseconds."""
    expected_s = calls.count * calls.call_ns / 1e9
    latency_ns = plain.ask("measure", "tail", calls.count, 1, extra_s=3 * expected_s)
    return [int(latency) for latency in latency_ns]
