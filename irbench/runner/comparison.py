"""Measure one group, from its first launch to its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from irbench.activity import Activity, Outlook
from irbench.measure.clock import Stopwatch
from irbench.measure.core_to_core import CoreLink
from irbench.measure.lock import Holder
from irbench.notices import Note, Reference, Warn
from irbench.record import LaunchRecord
from irbench.result import GroupResult, StoppedBy
from irbench.runner.answers import mismatch
from irbench.runner.continuation import GroupSoFar, without_unfinished
from irbench.runner.launch import Launch
from irbench.runner.plan import PlannedGroup
from irbench.runner.progress import Listener, Progress
from irbench.runner.reference import expected_outputs
from irbench.runner.request import RunRequest
from irbench.runner.signals import signals_deferred
from irbench.runner.turn import LaunchPlan, Turn
from irbench.spec import Cell
from irbench.stats import Admission, Next, Pace, Room, launches_planned, next_launch, outlook, scatters, summarise
from irbench.store import RunWriter
from irbench.system import host

__all__ = ["Comparison", "GroupContext"]


@dataclass(frozen=True)
class GroupContext:
    """What a group's measurement needs besides the group.

    Attributes:
        request: The run it belongs to.
        writer: The run in the store.
        listen: Hears what happens, between rounds only.
        others: Returns who else has been measuring on this machine since it was last asked.
        link: The core-to-core probe.
        scratch: A folder of the group's own that is gone after the run.
        number: The group's place in the run, counted from 0.
        so_far: Launches of the group from before its run ended early; ``None`` where it begins.
    """

    request: RunRequest
    writer: RunWriter
    listen: Listener
    others: Callable[[], Sequence[Holder]]
    link: CoreLink
    scratch: Path
    number: int
    so_far: GroupSoFar | None = None


_FIRST_CLOSING_S = 0.5
"""What storing a launch and its table is taken to need before that was seen once."""


class Comparison:
    """Launches a group until its stopping rule is met, and keeps the store up to date."""

    def __init__(self, planned: PlannedGroup, context: GroupContext) -> None:
        self._planned = planned
        self._context = context
        self._group = planned.group
        self._timing = context.request.timing
        self._watch = Stopwatch()
        self._before = without_unfinished(context.writer.document)
        self._records: list[LaunchRecord] = []
        self._samples: Mapping[str, int] = {}
        self._calls = 0
        self._launches_s: list[float] = []
        self._closing_s = _FIRST_CLOSING_S
        self._remarks: tuple[Warn, ...] = ()
        self._verified_against: Reference | None = None
        self._outlook: Outlook | None = None
        self._others = dict.fromkeys(context.others())
        if context.so_far is not None:
            self._take_up(context.so_far)

    def _take_up(self, so_far: GroupSoFar) -> None:
        """Go on after the last launch that is stored."""
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
            GroupTooLarge: Its cells do not fit into memory together; nothing was stored.
            GraphRefused: A cell can run the other form of its graph only; nothing was stored.
            IrbenchError: The store cannot be written.
        """
        if not self._planned.can_run:
            return self._commit("failures")
        try:
            plan = self._launch_plan()
            following = self._following() if self._records else Next(tuple(cell.id for cell in self._healthy()))
            while following.stopped_by is None:
                following = self._launch(plan, following)
            return self._commit(following.stopped_by)
        except KeyboardInterrupt:
            with signals_deferred():  # who interrupts once more must not lose what the first one kept
                return self._commit("interrupt")

    def _launch_plan(self) -> LaunchPlan:
        context = self._context
        self._say(Activity("expected-outputs"))
        context.scratch.mkdir(parents=True, exist_ok=True)
        expected = expected_outputs(self._group, context.scratch, self._timing.deadline)
        self._remarks, self._verified_against = self._remarks or expected.warnings, expected.source
        return LaunchPlan(
            group=self._group,
            number=context.number,
            timing=self._timing,
            seed=context.request.seed,
            logs=context.writer.logs,
            reference=expected.outputs,
            cpus=host.allowance(context.request.cpus).cpus,
            others=self._planned.others,
            scale=expected.scale,
        )

    def _launch(self, plan: LaunchPlan, planned: Next) -> Next:
        """Run one launch, keep its record, and return what follows."""
        watch = Stopwatch()
        with Launch(replace(plan, timing=self._timing), self._turn(planned), self._context.link, self._say) as launch:
            record, tempo = launch.measure()
        self._samples = self._samples or tempo.samples
        self._calls += tempo.blocks_that_count(len(record.blocks)) * tempo.stride
        self._remarks = (*self._remarks, *tempo.warnings)
        self._timing = replace(self._timing, tail=tempo.timing.tail)
        with signals_deferred():  # a launch is told where and only where it is stored
            measured_s = watch.elapsed_s
            self._records.append(record)
            self._context.writer.add_launch(record)
            interim = self._commit("unfinished")
            self._launches_s.append(watch.elapsed_s)
            self._closing_s = watch.elapsed_s - measured_s
        self._say(Activity("launch-finished"), interim)
        return self._following()

    def _following(self) -> Next:
        """Return what the launches until now call for."""
        pace = Pace(self._watch.elapsed_s, self._launches_s, self._closing_s)
        return next_launch(self._group, self._records, self._timing, self._admission(), pace)

    @property
    def _launches_planned(self) -> float:
        """How many launches of all cells the budget should have room for."""
        wrong = self._admission().mismatches
        return launches_planned(sum(cell.id not in wrong for cell in self._healthy()), self._timing)

    def _turn(self, planned: Next) -> Turn:
        number = len(self._records)
        first = {cell.cell: cell.peak_memory_bytes for record in self._records[:1] for cell in record.cells}
        peaks = [first.get(cell, {}).get("process") for cell in planned.cells]
        known = [peak for peak in peaks if peak is not None]
        return Turn(
            number=number,
            cells=tuple(cell for cell in self._healthy() if cell.id in planned.cells),
            room=self._room(number),
            samples=self._samples,
            scatters=scatters(self._group, self._records, self._timing, planned.cells),
            peak_bytes=sum(known) if known and len(known) == len(peaks) else None,
            first=self._calls,
        )

    def _room(self, number: int) -> Room:
        """Return what is left for a launch, what storing it and its table takes left out."""
        spent_s = self._watch.elapsed_s + self._closing_s
        budget_s = self._timing.budget
        sized_for_s = min(budget_s, self._timing.sized_for or budget_s)
        return Room(
            left_s=sized_for_s - spent_s,
            launches=max(1, self._launches_planned - number),
            end_s=budget_s - spent_s,
            needed=max(1, self._timing.min_launches - number),
        )

    def _healthy(self) -> tuple[Cell, ...]:
        """Return the cells that can run the model and have not failed."""
        gone = {cell for record in self._records for cell in record.failures} | set(self._planned.absent)
        return tuple(cell for cell in self._group.cells if cell.id not in gone)

    def _admission(self) -> Admission:
        """Return who may be compared, judging outputs by the precision that each cell read back."""
        ran = {cell.id: cell.artifact for cell in self._group.cells}
        judged = {cell.cell: mismatch(cell, ran[cell.cell]) for record in self._records[:1] for cell in record.cells}
        return Admission(
            absent=self._planned.absent,
            mismatches={cell: failure for cell, failure in judged.items() if failure is not None},
            allow_mixed=self._context.request.allow_mixed,
        )

    def _commit(self, stopped_by: StoppedBy) -> GroupResult:
        """Derive the table anew from the records and put it into the store's document."""
        admission = self._admission()
        self._outlook = outlook(self._group, self._records, self._timing, admission)
        result = summarise(
            self._group,
            self._records,
            self._timing,
            admission,
            stopped_by=stopped_by,
            seconds=self._watch.elapsed_s,
            remarks=self._remarks,
            verified_against=self._verified_against,
        )
        self._others.update(dict.fromkeys(self._context.others()))
        disturbed = (Note("another-irbench", asdict(other)) for other in self._others)
        notes = (
            *result.notes,
            *self._untimed_samples(),
            *self._planned.notes,
            *self._context.request.notes,
            *disturbed,
        )
        result = replace(result, notes=notes)
        self._context.writer.commit(replace(self._context.writer.document, groups=(*self._before.groups, result)))
        return result

    def _untimed_samples(self) -> Iterator[Note]:
        samples = self._group.feeding.count
        if 0 < self._calls < samples:
            yield Note("samples-not-timed", {"timed": self._calls, "samples": samples})

    def _say(self, activity: Activity, interim: GroupResult | None = None) -> None:
        self._context.listen(
            Progress(
                model=self._group.bundle.name,
                activity=activity,
                launch=len(self._records) + (interim is None),
                most_launches=self._timing.max_launches,
                elapsed_s=self._watch.elapsed_s,
                budget_s=self._timing.budget,
                outlook=self._outlook,
                interim=interim,
                batch=self._group.batch if len(self._context.request.batches or ()) > 1 else None,
            )
        )
