"""Measure the groups of a run, each from its first launch to its table: the cells of one are compared side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from irbench.core.activity import Activity, Outlook
from irbench.core.record import CellLaunch, LaunchRecord
from irbench.core.result import GroupResult, RunDocument, StoppedBy
from irbench.core.row import ENDED_EARLY
from irbench.measure.clock import Stopwatch
from irbench.measure.core_to_core import CoreLink
from irbench.measure.lock import Holder
from irbench.notices import Note, Warn
from irbench.notices.notes import AnotherIrbench, NativePrecision, SamplesNotTimed
from irbench.runner.continuation import GroupSoFar, without_unfinished
from irbench.runner.launch import Launch
from irbench.runner.launch_schedule import UNTIL_PRECISE, LaunchSchedule, launched, most_launches
from irbench.runner.launch_size import Tempo
from irbench.runner.launch_state import GroupTooLarge, LaunchInputs, LaunchPlan
from irbench.runner.mixed_samples import mixed_samples
from irbench.runner.neighbours import busy_neighbours, neighbour_tasks
from irbench.runner.plan import GraphRefused, PlannedGroup, with_other_graphs
from irbench.runner.prepare import same_inputs, swept_sizes
from irbench.runner.reference import ReferenceOutputs, expected_outputs, mismatch, references
from irbench.runner.request import RunRequest
from irbench.runner.run_progress import Listener, Progress, batch_facts
from irbench.runs.run_modes import mode_asked_for
from irbench.spec import Cell, Group
from irbench.stats.eligibility import Admission
from irbench.stats.launch_planning import Room, least_seconds, parts_of
from irbench.stats.stopping_rule import Next, Pace, launches_planned, outlook, scatters
from irbench.stats.summary import summarise
from irbench.stats.time_left import LaunchTimes, seconds_left, times_of
from irbench.store.runs import RunWriter
from irbench.system import host
from irbench.system.signals import signals_deferred


def run(
    request: RunRequest,
    groups: Sequence[PlannedGroup],
    scratch: Path,
    writer: RunWriter,
    listen: Listener,
    others: Callable[[], Sequence[Holder]],
    so_far: GroupSoFar | None = None,
    schedule: LaunchSchedule = UNTIL_PRECISE,
    prepared_s: float = 0.0,
    expected_s: Sequence[float] = (),
) -> RunDocument:
    """Measure the planned groups and return the document, which is also in the store.

    An interrupt ends the run; every finished launch is in the document, whose last group says so.

    Args:
        request: What was asked for.
        groups: What is measured, from :func:`irbench.runner.plan.plan`.
        scratch: A folder that is gone after the run.
        writer: An open run of the store; groups that it has are finished.
        listen: Receives progress, between rounds only.
        others: Returns who else has been measuring on this machine; asked between launches only.
        so_far: Launches of the first group that is not finished, where the run goes on.
        schedule: Decides which cells of a group are launched next, and when it ends.
        prepared_s: How long the command has been preparing the run; a budget that somebody gave contains it.
        expected_s: How long each group is expected to take; without these no remaining time is reported.

    Raises:
        IrbenchError: The store cannot be written, or a process that was to keep a processor busy ended.
    """
    finished = without_unfinished(writer.document).groups
    watch = Stopwatch(prepared_s + sum(table.seconds for table in finished))
    weights = [group.weight for group in groups]
    counted = 0 if request.counting is None else sum(weights)  # counted launches get as much time as timed ones
    writer.commit(replace(writer.document, tables_planned=len(groups)))
    busy = busy_neighbours(request.timing.busy_processors, writer.logs)
    with CoreLink(host.allowance(request.asked.cpus).cpus) as link, busy:
        for number, planned in enumerate(groups[len(finished) :], start=len(finished)):
            left = sum(weights[number:]) + counted
            share = request.with_budget_for(planned.weight, left, watch.elapsed_s, prepared_s)
            folder = scratch / f"group-{number}"
            following_s = sum(expected_s[number + 1 :])
            measured = GroupMeasurement(
                planned,
                share,
                folder,
                writer,
                listen,
                others,
                link,
                number,
                so_far,
                schedule,
                expected_s=expected_s[number] if expected_s else None,
                after_s=following_s,
            )
            result, so_far = measured.run(), None
            if result.stopped_by in ENDED_EARLY:
                return writer.document
    following = mode_asked_for(request, follows_speeds=True)
    if following is not None:
        return following(request.after(prepared_s), groups, scratch, writer, listen)
    return writer.commit(replace(writer.document, complete=True))


_FIRST_CLOSING_S = 0.5
"""What storing a launch and its table is taken to need before that was seen once."""


@dataclass
class GroupMeasurement:
    """Launches a group until its stopping rule is met, and keeps the store up to date.

    Attributes:
        expected_s: How long the group is expected to take before anything is known of it; ``None`` where nobody asks.
        after_s: How long everything is expected to take that follows the group.
    """

    planned: PlannedGroup
    request: RunRequest
    scratch: Path
    writer: RunWriter
    listen: Listener
    others: Callable[[], Sequence[Holder]]
    link: CoreLink
    number: int = 0
    so_far: GroupSoFar | None = None
    schedule: LaunchSchedule = UNTIL_PRECISE
    expected_s: float | None = None
    after_s: float = 0.0

    def __post_init__(self) -> None:
        self._timing = self.request.timing
        self._watch = Stopwatch()
        self._before = without_unfinished(self.writer.document)
        self._records: list[LaunchRecord] = []
        self._samples: Mapping[str, int] = {}
        self._calls = 0
        self._launches_s: list[float] = []
        self._closing_s = _FIRST_CLOSING_S
        self._remarks: tuple[Warn, ...] = ()
        self._expected: tuple[ReferenceOutputs, ...] = ()
        self._outlook: Outlook | None = None
        self._right: dict[str, set[str]] = {}
        self._others = dict.fromkeys(self.others())
        self._first_extra_s = 0.0
        is_foreseen = (
            self.schedule.ahead(self._group, (), self._timing, Admission(absent=self.planned.absent)) is not None
        )
        self._ends_s = self._timing.budget if self.expected_s is not None and not is_foreseen else self.expected_s
        if self.so_far is not None:
            self._resume(self.so_far)

    def _resume(self, so_far: GroupSoFar) -> None:
        self._watch = Stopwatch(so_far.table.seconds)
        self._records = list(so_far.records)
        self._samples = so_far.samples
        self._calls = so_far.calls(self._timing)
        self._timing = so_far.timing(self._timing)
        self._launches_s = so_far.launches_s
        self._remarks = so_far.remarks
        self._others.update(dict.fromkeys(so_far.others))

    def run(self) -> GroupResult:
        """Measure the group and return its table, which the store holds too.

        Raises:
            IrbenchError: The store cannot be written.
        """
        if not self.planned.can_run:
            return self._commit("failures")
        try:
            self._expect_outputs()
            following = self._next()
            while following.stopped_by is None:
                following = self._try_launch(following)
            return self._commit(following.stopped_by)
        except KeyboardInterrupt:
            with signals_deferred():  # who interrupts once more must not lose what the first one kept
                return self._commit("interrupt")

    @property
    def _group(self) -> Group:
        return self.planned.group

    def _expect_outputs(self) -> None:
        """Get the expected outputs of each workload; those that are fed the same share the first one's.

        Where models may answer differently, each has its own.
        """
        self._say(Activity("expected-outputs"))
        scratch, workloads = self.scratch, self._group.workloads
        scratch.mkdir(parents=True, exist_ok=True)
        expected: list[ReferenceOutputs] = []
        for place, workload in enumerate(workloads):
            fed_alike = (other for other in range(place) if same_inputs(workloads[other], workload))
            known = None if self.request.side_by_side else next(fed_alike, None)
            if known is not None:
                expected.append(expected[known])
                continue
            cells = [cell for cell in self._group.cells if cell.workload == place]
            if all(cell.id in self.planned.absent for cell in cells):
                expected.append(ReferenceOutputs(None, None))
                continue
            deadline = self._timing.deadline_after(self._watch.elapsed_s)
            expected.append(expected_outputs(workload, cells, scratch, deadline.seconds))
            self._remarks = (*self._remarks, *(warn for warn in expected[-1].warnings if warn not in self._remarks))
        answered = list(zip(workloads, expected, strict=True))
        for place, (workload, found) in enumerate(answered):
            deadline = self._timing.deadline_after(self._watch.elapsed_s)
            is_written = place in self.planned.written_batches
            mixed = mixed_samples(workload, found, answered, is_written, scratch, deadline.seconds)
            self._remarks = (*self._remarks, *([mixed] if mixed is not None and mixed not in self._remarks else []))
        self._expected = tuple(expected)

    def _launch_plan(self) -> LaunchPlan:
        return LaunchPlan(
            group=self._group,
            number=self.number,
            timing=self._timing,
            seed=self.request.asked.seed,
            logs=self.writer.logs,
            expected=self._expected,
            cpus=host.allowance(self.request.asked.cpus).cpus,
            others=self.planned.others,
            neighbours=neighbour_tasks(self.planned, self._timing),
            right=self._right,
        )

    def _try_launch(self, planned: Next) -> Next:
        """Run one launch; where its cells do not fit, or one refuses its graph, change that and store nothing."""
        try:
            return self._launch(planned)
        except GroupTooLarge as reason:
            self._timing = replace(self._timing, most_cells=max(2, len(reason.fitting)))
            return self._next()
        except GraphRefused as refused:
            self.planned = with_other_graphs(self.planned, refused, alone=bool(self._records))
            return planned

    def _launch(self, planned: Next) -> Next:
        watch = Stopwatch()
        inputs = self._launch_inputs(planned)
        with Launch(self._launch_plan(), inputs, self.link, self._say, self._expect_end_of_first) as launch:
            record, tempo = launch.measure()
        self._samples = {**tempo.samples, **self._samples}
        self._calls += tempo.blocks_that_count(len(record.blocks)) * tempo.stride
        known = {warning.code for warning in self._remarks}
        self._remarks = (*self._remarks, *(warning for warning in tempo.warnings if warning.code not in known))
        divided = tempo.timing.beginnings and any(cell.beginnings_ns for cell in record.cells)
        self._timing = replace(self._timing, tail=tempo.timing.tail, beginnings=divided)
        with signals_deferred():  # a launch is told where and only where it is stored
            measured_s = watch.elapsed_s
            self._records.append(record)
            self.writer.add_launch(record)
            interim = self._commit("unfinished")
            self._launches_s.append(watch.elapsed_s)
            self._closing_s = watch.elapsed_s - measured_s
        self._expect_end_of_later()
        self._say(Activity("launch-finished"), interim)
        return self._next()

    def _expect_end_of_first(self, tempo: Tempo) -> None:
        """Foresee the end of the group once its first launch has started all of its cells."""
        if self._records:
            return
        cost, closing_s = tempo.cost, self._closing_s
        self._first_extra_s = cost.start_s - cost.later_s
        usual_s = tempo.expected_s - self._first_extra_s + closing_s
        least_s = least_seconds(tempo.timing, replace(cost, start_s=cost.later_s), 1) + closing_s
        ends_s = self._watch.elapsed_s - cost.start_s + tempo.expected_s + closing_s
        self._expect_end(Pace(ends_s, [usual_s], closing_s), LaunchTimes(usual_s, least_s), 1)

    def _expect_end_of_later(self) -> None:
        """Foresee the end of the group from the launches that it has had."""
        times = times_of(self._records, self._launches_s, self._timing, self._first_extra_s)
        self._expect_end(Pace(self._watch.elapsed_s, self._launches_s, self._closing_s), times)

    def _expect_end(self, pace: Pace, times: LaunchTimes, under_way: int = 0) -> None:
        if self.expected_s is None:
            return
        ahead = self.schedule.ahead(self._group, self._records, self._timing, self._admission())
        if ahead is None:
            self._ends_s = max(pace.elapsed_s, self._timing.budget)
            return
        left_s = seconds_left(ahead[under_way:], times, pace, self._timing, self._launches_planned)
        self._ends_s = pace.elapsed_s + left_s

    @property
    def _remaining_s(self) -> float | None:
        return None if self._ends_s is None else max(0.0, self._ends_s - self._watch.elapsed_s) + self.after_s

    def _next(self) -> Next:
        pace = Pace(self._watch.elapsed_s, self._launches_s, self._closing_s)
        return self.schedule.following(self._group, self._records, self._timing, self._admission(), pace)

    @property
    def _launches_planned(self) -> float:
        """How many launches of as many cells as one takes the budget should have room for."""
        wrong = self._admission().mismatches
        return launches_planned(sum(cell.id not in wrong for cell in self._healthy()), self._timing)

    def _launch_inputs(self, planned: Next) -> LaunchInputs:
        number = len(self._records)
        first = self._first_launches()
        peaks = [first[cell].peak_memory_bytes.get("process") if cell in first else None for cell in planned.cells]
        known = [peak for peak in peaks if peak is not None]
        return LaunchInputs(
            number=number,
            cells=tuple(cell for cell in self._healthy() if cell.id in planned.cells),
            room=self._room(number),
            samples=self._samples,
            scatters=scatters(self._group, self._records, self._timing, planned.cells),
            peak_bytes=sum(known) if known and len(known) == len(peaks) else None,
            first=self._calls,
            new=frozenset(planned.cells) - first.keys(),
            warm_ups={cell: own.warm_up for cell, own in first.items() if own.warm_up is not None},
        )

    def _room(self, number: int) -> Room:
        """Return what is left for a launch, what storing it and its table takes left out."""
        spent_s = self._watch.elapsed_s + self._closing_s
        needed = self._timing.min_launches * parts_of(len(self._healthy()), self._timing.most_cells) - number
        return Room(
            left_s=self._timing.sized_for_s(has_interval=needed <= 0) - spent_s,
            launches=max(1, self._launches_planned - number),
            end_s=self._timing.budget - spent_s,
            needed=max(1, needed),
        )

    def _healthy(self) -> tuple[Cell, ...]:
        gone = {cell for record in self._records for cell in record.failures} | set(self.planned.absent)
        return tuple(cell for cell in self._group.cells if cell.id not in gone)

    def _first_launches(self) -> dict[str, CellLaunch]:
        return {cell.cell: cell for record in reversed(self._records) for cell in record.cells}

    def _admission(self) -> Admission:
        """Return who may be compared, judging outputs by the precision that each cell read back."""
        ran = {cell.id: cell for cell in self._group.cells}
        judged = {cell: mismatch(measured, ran[cell]) for cell, measured in self._first_launches().items()}
        return Admission(
            absent=self.planned.absent,
            mismatches={cell: failure for cell, failure in judged.items() if failure is not None},
            allow_mixed=self.request.compares_all_precisions,
        )

    def _commit(self, stopped_by: StoppedBy) -> GroupResult:
        """Derive the table again from the records and put it into the store's document."""
        admission = self._admission()
        group = self._group if self.schedule.measures_all else launched(self._group, self._records)
        self._outlook = outlook(group, self._records, self._timing, admission)
        result = summarise(
            group,
            self._records,
            self._timing,
            admission,
            stopped_by=stopped_by,
            seconds=self._watch.elapsed_s,
            remarks=self._remarks,
            references=references(self._group, self._expected),
        )
        self._others.update(dict.fromkeys(self.others()))
        disturbed = (AnotherIrbench(**asdict(other)) for other in self._others)
        notes = (
            *result.notes,
            *self._untimed_samples(),
            *self.planned.notes,
            *(note for note in self.request.notes if _applies(note, result)),
            *disturbed,
        )
        result = replace(result, notes=notes)
        self.writer.commit(replace(self.writer.document, groups=(*self._before.groups, result)))
        return result

    def _untimed_samples(self) -> Iterator[Note]:
        if 0 < self._calls < self._group.feeds:
            yield SamplesNotTimed(timed=self._calls, samples=self._group.feeds)

    def _say(self, activity: Activity, interim: GroupResult | None = None) -> None:
        if activity.code == "over-budget" and not self.schedule.measures_all:
            return  # a search makes what it can of its budget
        main = self._group.main
        self.listen(
            Progress(
                model=main.bundle.name,
                activity=activity,
                launch=len(self._records) + (interim is None),
                most_launches=most_launches(self.schedule, len(self.planned.measured), self._timing),
                elapsed_s=self._watch.elapsed_s,
                budget_s=self._timing.budget,
                outlook=self._outlook,
                remaining_s=self._remaining_s,
                interim=interim,
                **batch_facts(self._group.workloads, self.request.asked.batch),
                sizes=swept_sizes(main.sizes, main.other_sizes),
            )
        )


def _applies(note: Note, result: GroupResult) -> bool:
    """Whether a note on a run is one on a table.

    A default precision is none where the backend cannot run the model, or computed in that one, or was made to compute
    in int8, which no runtime does by default.
    """
    if not isinstance(note, NativePrecision):
        return True
    rows = [cell for cell in result.cells if cell.backend == note.backend and cell.failure is None]
    return bool(rows) and not {note.precision, "int8"} & {cell.effective.get("precision") for cell in rows}
