"""One group from its first launch to its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irbench import host
from irbench.measure.clock import Stopwatch
from irbench.measure.corelink import CoreLink
from irbench.record import LaunchRecord
from irbench.result import GroupResult, StoppedBy, Warn
from irbench.runner.answers import mismatch
from irbench.runner.holding import signals_held_back
from irbench.runner.launch import Launch, LaunchPlan, Tempo
from irbench.runner.plan import PlannedGroup
from irbench.runner.progress import Listener, Progress
from irbench.runner.reference import expected_outputs
from irbench.runner.request import RunRequest
from irbench.spec import Cell
from irbench.stats import Admission, Pace, outlook, should_stop, summarise
from irbench.store import RunWriter

__all__ = ["Comparison", "Surroundings"]


@dataclass(frozen=True)
class Surroundings:
    """What a group's measurement needs besides the group.

    Attributes:
        request: The run it belongs to.
        writer: The run in the store.
        listen: Hears what happens, between rounds only.
        others: Returns who else has been measuring on this machine since it was last asked.
        link: The core-to-core probe.
        scratch: A folder of the group's own that is gone after the run.
        number: The group's place in the run, counted from 0.
    """

    request: RunRequest
    writer: RunWriter
    listen: Listener
    others: Callable[[], Sequence[str]]
    link: CoreLink
    scratch: Path
    number: int


class Comparison:
    """Launches a group until its stopping rule is met, and keeps the store up to date."""

    def __init__(self, planned: PlannedGroup, around: Surroundings) -> None:
        self._planned = planned
        self._around = around
        self._group = planned.group
        self._timing = around.request.timing
        self._watch = Stopwatch()
        self._before = around.writer.document
        self._records: list[LaunchRecord] = []
        self._tempo: Tempo | None = None
        self._longest_launch_s = 0.0
        self._remarks: tuple[Warn, ...] = ()
        self._verified_against: str | None = None
        self._outlook = ""
        self._others = dict.fromkeys(around.others())

    def run(self) -> GroupResult:
        """Measure the group and return its table, which the store holds too.

        Raises:
            GroupTooLarge: Its cells do not fit into memory together; nothing was stored.
            IrbenchError: The store cannot be written.
        """
        if not self._planned.can_run:
            return self._commit("failures")
        try:
            plan = self._launch_plan()
            while True:
                stopped_by = self._launch(plan)
                if stopped_by is not None:
                    return self._commit(stopped_by)
        except KeyboardInterrupt:
            with signals_held_back():  # who interrupts once more must not lose what the first one kept
                return self._commit("interrupt")

    def _launch_plan(self) -> LaunchPlan:
        around = self._around
        self._say("expected outputs")
        around.scratch.mkdir(parents=True, exist_ok=True)
        expected = expected_outputs(self._group, around.scratch, around.request.seed, self._timing.deadline)
        self._remarks, self._verified_against = expected.warnings, expected.source
        cache = around.scratch / "cache"
        cache.mkdir(parents=True, exist_ok=True)
        return LaunchPlan(
            group=self._group,
            number=around.number,
            timing=self._timing,
            seed=around.request.seed,
            logs=around.writer.logs,
            reference=expected.outputs,
            cache=cache,
            cpus=host.allowance(around.request.cpus).cpus,
        )

    def _launch(self, plan: LaunchPlan) -> StoppedBy | None:
        """Run one launch, keep its record, and return why the group ends with it, if it does."""
        watch = Stopwatch()
        with Launch(plan, len(self._records), self._healthy(), self._around.link, self._say) as launch:
            record, self._tempo = launch.measure(self._tempo)
            self._longest_launch_s = max(self._longest_launch_s, watch.elapsed_s)
            with signals_held_back():  # a launch is told where and only where it is stored
                self._records.append(record)
                self._around.writer.add_launch(record)
                interim = self._commit("unfinished")
            self._say("launch finished", interim)
            stopped_by = should_stop(self._group, self._records, self._timing, self._admission(), self._pace())
            if stopped_by is not None and self._timing.sustain:
                sustained = launch.sustain()
                with signals_held_back():
                    self._records[-1] = replace(record, sustained=sustained, failures=launch.failures)
                    self._around.writer.add_launch(self._records[-1])
        return stopped_by

    def _pace(self) -> Pace:
        return Pace(elapsed_s=self._watch.elapsed_s, next_launch_s=self._longest_launch_s)

    def _healthy(self) -> tuple[Cell, ...]:
        """Return the cells that can run the model and have not failed."""
        gone = {cell for record in self._records for cell in record.failures} | set(self._planned.absent)
        return tuple(cell for cell in self._group.cells if cell.id not in gone)

    def _admission(self) -> Admission:
        """Return who may be compared, judging outputs by the precision that each cell read back."""
        judged = {cell.cell: mismatch(cell) for record in self._records[:1] for cell in record.cells}
        return Admission(
            absent=self._planned.absent,
            mismatches={cell: failure for cell, failure in judged.items() if failure is not None},
            allow_mixed=self._around.request.allow_mixed,
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
        self._others.update(dict.fromkeys(self._around.others()))
        disturbed = (f"{other} was measuring at the same time, as --no-lock allows." for other in self._others)
        result = replace(result, notes=(*result.notes, *self._around.request.notes, *disturbed))
        self._around.writer.commit(replace(self._around.writer.document, groups=(*self._before.groups, result)))
        return result

    def _say(self, activity: str, interim: GroupResult | None = None) -> None:
        self._around.listen(
            Progress(
                model=self._group.bundle.name,
                activity=activity,
                launch=len(self._records) + (interim is None),
                most_launches=self._timing.max_launches,
                elapsed_s=self._watch.elapsed_s,
                budget_s=self._timing.budget,
                outlook=self._outlook,
                interim=interim,
            )
        )
