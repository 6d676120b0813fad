"""Profile the operators of every cell: launches of instrumented workers, each beside one without instruments."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.core.activity import Activity
from irbench.core.record import OutputError
from irbench.core.row import LaunchesStop
from irbench.features.profile.profile_document import (
    Disturbance,
    GpuTimes,
    LaunchLatencies,
    OperatorProfile,
    ProfiledCell,
    ProfileDocument,
    TimelineSpan,
)
from irbench.measure.disturbances import MachineSnapshot, foreign_cpu_ns, snapshot
from irbench.notices import Note, Warn
from irbench.notices.warnings import BusyMachine
from irbench.runner.plan import PlannedGroup, refusal_note
from irbench.runner.reference import worse
from irbench.runner.request import RunRequest
from irbench.runner.rounds import Rounds
from irbench.runner.run_progress import Listener
from irbench.runner.workers import (
    CellFailed,
    CellWorker,
    Setting,
    checked,
    checked_turns,
    runnable_form,
    setting_of,
)
from irbench.spec import Cell, Timing
from irbench.spi.profiling import InferenceProfile, OperatorTime
from irbench.stats.blocks import processors_in_use
from irbench.stats.intervals import FEWEST_LAUNCHES
from irbench.system import host
from irbench.system.signals import signals_deferred
from irbench.worker.cell import PreparedSession, Warmed
from irbench.worker.profile_host import MOST_CALLS, ProfiledRun

Keep: TypeAlias = Callable[[ProfileDocument], None]
"""Stores a profile after each launch."""


@dataclass(frozen=True)
class ProfilePlan:
    """How long a profile takes.

    Attributes:
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
    """What is profiled, and where workers write."""

    request: RunRequest
    planned: PlannedGroup
    plan: ProfilePlan
    scratch: Path
    logs: Path


class Profiling:
    """Profiles every cell of a table that can run; an interrupt keeps every finished launch."""

    def __init__(self, task: ProfileTask, begun: ProfileDocument, listen: Listener, keep: Keep) -> None:
        self._task = task
        self._document = begun
        self._keep = keep
        self._rounds = Rounds(
            model=begun.model,
            most=task.plan.launches,
            budget_s=task.plan.budget_s,
            seed=f"profile/{task.request.asked.seed}",
            listen=listen,
            counted="launch",
        )
        cells = task.planned.group.cells
        self._candidates = list(map(_ProfiledCell, cells, begun.cells))
        self._notes: tuple[Note, ...] = begun.notes
        self._setting: Setting | None = None
        self._cpus = host.allowance(task.request.asked.cpus).cpus

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
    def _able(self) -> list[_ProfiledCell]:
        return [candidate for candidate in self._candidates if candidate.profiled.failure is None]

    def _take(self, candidate: _ProfiledCell) -> None:
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

    def _attempt(self, candidate: _ProfiledCell, setting: Setting) -> CellFailed | None:
        self._rounds.say(Activity("profile", candidate.cell.label))
        try:
            candidate.profiled = self._profiled(candidate, setting)
        except CellFailed as failed:
            return failed
        return None

    def _profiled(self, candidate: _ProfiledCell, setting: Setting) -> ProfiledCell:
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
        launch = ProfileLaunch(
            self._rounds.finished, run.latency_ns, tuple(plain_ns), run.profiles, disturbance, run.copies_ns
        )
        profiled = with_launch(candidate.profiled, launch)
        return replace(profiled, effective=run.effective, output_error=worse(profiled.output_error, error))

    def _instrumented(self, cell: Cell, setting: Setting) -> tuple[ProfiledRun, OutputError | None]:
        try:
            return profile_cell(cell, setting, self._task.plan.inferences)
        except CellFailed as failed:
            raise _NotProfiled(failed.failure, failed.output_error) from failed

    def _prepare(self, plain: CellWorker, candidate: _ProfiledCell, setting: Setting) -> _Calls:
        """Compile, check the answers in the first launch, warm up, and return what is timed."""
        is_first = not candidate.profiled.launches
        plain.hold("irbench.worker.profile_host:PlainHost")
        plain.ask("import", "import_runtime")
        prepared: PreparedSession = plain.ask("compile", "prepare", is_first and setting.expected.outputs is not None)
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


@dataclass
class _ProfiledCell:
    """A cell, and what was recorded of it."""

    cell: Cell
    profiled: ProfiledCell

    def leave(self, failed: CellFailed) -> None:
        self.profiled = replace(
            self.profiled, failure=failed.failure, output_error=failed.output_error or self.profiled.output_error
        )


class _NotProfiled(CellFailed):
    """A cell that runs its graph, but not where its operators are recorded."""


@dataclass(frozen=True)
class _Calls:
    """What is timed at once: so many calls, each of about so many nanoseconds."""

    count: int
    call_ns: float


def profile_cell(cell: Cell, setting: Setting, inferences: int) -> tuple[ProfiledRun, OutputError | None]:
    """Compile a cell with its runtime's recording switched on, check its answers, and profile it."""
    with setting.worker(cell) as worker:
        worker.hold("irbench.worker.profile_host:ProfileHost")
        worker.ask("import", "import_runtime")
        prepared: PreparedSession = worker.ask("compile", "prepare", setting.expected.outputs is not None)
        error = worse(checked(cell, prepared, setting), checked_turns(worker, "verify", prepared, setting))
        warmed: Warmed = worker.ask("warm-up", "warm_up")
        expected_s = max(inferences, MOST_CALLS) * warmed.call_ns / 1e9
        run: ProfiledRun = worker.ask("measure", "profile", inferences, extra_s=3 * expected_s)
        return run, error


def disturbance_between(before: MachineSnapshot, after: MachineSnapshot, processors: int) -> Disturbance:
    """Return what else happened on the machine between two snapshots."""
    return Disturbance(after.at_ns - before.at_ns, foreign_cpu_ns(before, after), processors)


def timed_plainly(plain: CellWorker, calls: _Calls) -> list[int]:
    """Return how long calls of a session take that is not profiled, in nanoseconds."""
    expected_s = calls.count * calls.call_ns / 1e9
    latency_ns = plain.ask("measure", "tail", calls.count, 1, extra_s=3 * expected_s)
    return [int(latency) for latency in latency_ns]


_Key: TypeAlias = tuple[str, str, tuple[str, ...], str, bool]


@dataclass(frozen=True)
class ProfileLaunch:
    """What was seen in a launch of a cell.

    Attributes:
        profiles: Of the profiled calls, oldest first; at least one, and their ``averages`` add up to the calls.
        copies_ns: Of each profiled call on a GPU, how long its inputs and its outputs were copied; empty on the CPU.
    """

    number: int
    profiled_ns: tuple[int, ...]
    plain_ns: tuple[int, ...]
    profiles: tuple[InferenceProfile, ...]
    disturbance: Disturbance | None = None
    copies_ns: tuple[tuple[int, int], ...] = ()

    @property
    def counted(self) -> NDArray[np.intp]:
        """Places of the calls that count: all of them where the mean of several cannot be taken apart."""
        if len(self.profiles) < len(self.profiled_ns):
            return np.arange(len(self.profiled_ns))
        return middle_half(self.profiled_ns)

    def profile_of(self, calls: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the place of each call's profile."""
        ends = np.cumsum([profile.averages for profile in self.profiles])
        return np.searchsorted(ends, calls, side="right")


def middle_half(latencies_ns: Sequence[int]) -> NDArray[np.intp]:
    """Return the places of the middle half of values by their size, ascending; at least one."""
    quarter = len(latencies_ns) // 4
    order = np.argsort(latencies_ns, kind="stable")
    return np.sort(order[quarter : len(order) - quarter])


def with_launch(cell: ProfiledCell, launch: ProfileLaunch) -> ProfiledCell:
    """Return a cell with one more launch."""
    executed = _executed(launch)
    operators = {
        key: replace(known, duration_ns=(*known.duration_ns, executed[key].duration_ns if key in executed else 0))
        for known in cell.operators
        for key in (_key(known),)
    }
    for key, operator in executed.items():
        operators.setdefault(key, operator.as_profile((0,) * len(cell.launches)))
    return replace(
        cell,
        operators=tuple(operators.values()),
        launches=(*cell.launches, _latencies(launch)),
        timeline=cell.timeline or _timeline(launch, {key: place for place, key in enumerate(operators)}),
    )


def _latencies(launch: ProfileLaunch) -> LaunchLatencies:
    return LaunchLatencies(
        launch=launch.number,
        profiled_ns=launch.profiled_ns,
        plain_ns=launch.plain_ns,
        counted=tuple(map(int, launch.counted)),
        uncertainty_ns=max(profile.uncertainty_ns for profile in launch.profiles),
        disturbance=launch.disturbance,
        gpu=_gpu_times(launch),
    )


@dataclass(frozen=True)
class _Operator:
    """An operator over the inferences of a launch that count."""

    first: OperatorTime
    executions: int
    duration_ns: int

    def as_profile(self, before: tuple[int, ...]) -> OperatorProfile:
        return OperatorProfile(
            name=self.first.name,
            kind=self.first.kind,
            nodes=self.first.nodes,
            device=self.first.device,
            implementation=self.first.implementation,
            shapes=self.first.outputs,
            is_overhead=self.first.is_overhead,
            executions=self.executions,
            duration_ns=(*before, self.duration_ns),
        )


def _executed(launch: ProfileLaunch) -> Mapping[_Key, _Operator]:
    """Return what each operator took in an inference, in the order in which they were first executed."""
    first: dict[_Key, OperatorTime] = {}
    totals, counts = defaultdict[_Key, float](float), defaultdict[_Key, float](float)
    places, calls = np.unique(launch.profile_of(launch.counted), return_counts=True)
    for place, share in zip(places, calls / calls.sum(), strict=True):
        for operator in launch.profiles[place].operators:
            key = _key(operator)
            first.setdefault(key, operator)
            totals[key] += float(share) * operator.duration_ns
            counts[key] += float(share)
    return {key: _Operator(operator, round(counts[key]), round(totals[key])) for key, operator in first.items()}


def _gpu_times(launch: ProfileLaunch) -> GpuTimes | None:
    """Return where the time of a launch went on a GPU; ``None`` of one on the CPU."""
    profiles = [launch.profiles[place] for place in launch.profile_of(launch.counted)]
    activities = [profile.gpu for profile in profiles if profile.gpu is not None]
    if not activities or not launch.copies_ns:
        return None
    copies = [launch.copies_ns[place] for place in launch.counted]
    kernels = [gpu.kernels_ns for gpu in activities if gpu.kernels_ns is not None]
    issuing = [gpu.issuing_ns for gpu in activities if gpu.issuing_ns is not None]
    return GpuTimes(
        copy_in_ns=_mean(copy_in for copy_in, _ in copies) + _mean(gpu.copy_in_ns or 0 for gpu in activities),
        copy_out_ns=_mean(copy_out for _, copy_out in copies) + _mean(gpu.copy_out_ns or 0 for gpu in activities),
        kernels_ns=_mean(kernels) if len(kernels) == len(activities) else None,
        rounding_ns=_mean(gpu.rounding_ns for gpu in activities),
        issuing_ns=_mean(issuing) if len(issuing) == len(activities) else None,
        on_cpu_ns=_mean(gpu.on_cpu_ns for gpu in activities),
    )


def _mean(times_ns: Iterable[int]) -> int:
    return round(fmean(times_ns))


def _timeline(launch: ProfileLaunch, places: Mapping[_Key, int]) -> tuple[TimelineSpan, ...]:
    """Return the executions of the inference whose latency is the median of those that count."""
    by_latency = sorted(launch.counted, key=lambda place: launch.profiled_ns[place])
    (middle,) = launch.profile_of(np.array([by_latency[len(by_latency) // 2]]))
    return tuple(
        TimelineSpan(places[_key(operator)], operator.start_ns, operator.duration_ns, operator.thread)
        for operator in launch.profiles[middle].operators
    )


def _key(operator: OperatorTime | OperatorProfile) -> _Key:
    return operator.name, operator.kind, operator.nodes, operator.device, operator.is_overhead


def disturbance_warnings(cells: Iterable[ProfiledCell]) -> Iterator[Warn]:
    """Yield a warning where other programs used more of the processors during the launches than a run allows."""
    every = (launch.disturbance for cell in cells for launch in cell.launches)
    disturbances = [disturbance for disturbance in every if disturbance is not None and disturbance.wall_ns > 0]
    if not disturbances:
        return
    share = sum(each.foreign_cpu_ns for each in disturbances) / sum(each.wall_ns for each in disturbances)
    processors = max(each.processors for each in disturbances)
    if share > Timing().dirty_foreign_share * processors:
        yield BusyMachine(foreign_share=share, processors=processors)
