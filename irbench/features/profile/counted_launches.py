"""Count what whole models and single operators of a profile do, in launches of their own after the profiled ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

from irbench.core.activity import Activity
from irbench.core.counter_row import CountedLaunch
from irbench.core.row import LaunchesStop
from irbench.counters import Counting
from irbench.features.counters.launches import count_cell
from irbench.features.profile.record import CountedPart, ProfileCounters
from irbench.measure.clock import Stopwatch
from irbench.runner.plan import PlannedGroup
from irbench.runner.progress import Listener
from irbench.runner.reference import Expected
from irbench.runner.rounds import Rounds
from irbench.runner.workers import CellFailed, Setting
from irbench.spec import Timing
from irbench.system.signals import signals_deferred

Keep: TypeAlias = Callable[[ProfileCounters], None]
"""Stores counters after each round of launches."""


@dataclass(frozen=True)
class PartModel:
    """A part, and the model that is launched to count it.

    Attributes:
        part: It.
        planned: A table of one cell.
    """

    part: CountedPart
    planned: PlannedGroup


@dataclass(frozen=True)
class CountingTask:
    """What is counted, and how.

    Attributes:
        model: What the parts are parts of.
        parts: In the order of the first round, in which time may run out: the ones that take longest first.
        counting: What is counted.
        timing: The protocol's numbers.
        budget_s: No launch begins that would end later, judged by the longest one before; the first always runs.
        seed: Of the order of the other rounds.
        scratch: A folder that is gone afterwards.
        logs: Where workers write what they print.
    """

    model: str
    parts: Sequence[PartModel]
    counting: Counting
    timing: Timing
    budget_s: float
    seed: int
    scratch: Path
    logs: Path


def count_parts(task: CountingTask, begun: ProfileCounters, listen: Listener, keep: Keep) -> ProfileCounters:
    """Launch every part in rounds until there are enough, or the time is up, and return the counters.

    An interrupt ends it; every finished launch is in the counters.

    Args:
        task: What is counted.
        begun: What is known before, with the parts that there is nothing to launch of.
        listen: Receives progress, between launches only.
        keep: Stores the counters after each round.
    """
    return _Counting(task, begun, listen, keep).run()


@dataclass
class _Counted:
    """A part, and what became of it so far."""

    model: PartModel
    part: CountedPart = field(init=False)

    def __post_init__(self) -> None:
        self.part = self.model.part

    def add(self, launch: CountedLaunch) -> None:
        """Add a finished launch."""
        self.part = replace(self.part, launches=(*self.part.launches, launch))


class _Counting:
    def __init__(self, task: CountingTask, begun: ProfileCounters, listen: Listener, keep: Keep) -> None:
        self._task = task
        self._counters = begun
        self._never_launched = begun.parts
        self._keep = keep
        self._rounds = Rounds(
            model=task.model,
            most=task.counting.plan.launches,
            budget_s=task.budget_s,
            seed=f"counted parts/{task.seed}",
            listen=listen,
        )
        self._counted = [_Counted(model) for model in task.parts]
        self._folders = count()
        self._longest_s = 0.0

    def run(self) -> ProfileCounters:
        """Count, and return the counters, which are kept too."""
        self._task.scratch.mkdir(parents=True, exist_ok=True)
        try:
            stopped_by = self._launch_all()
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        with signals_deferred():  # who interrupts once more must not lose what the first one kept
            self._commit(stopped_by)
        return self._counters

    @property
    def _able(self) -> list[_Counted]:
        return [counted for counted in self._counted if counted.part.failure is None]

    def _launch_all(self) -> LaunchesStop:
        """Launch in rounds, of which also the first ends when the time is up: parts may be hundreds."""
        while self._able and self._rounds.finished < self._rounds.most:
            turns = self._able
            if self._rounds.finished:
                self._rounds.random.shuffle(turns)
            for counted in turns:
                if self._longest_s and self._rounds.watch.elapsed_s + self._longest_s > self._rounds.budget_s:
                    return "budget"
                self._launch(counted)
            self._rounds.end(lambda: self._commit("unfinished"))
        return "launches" if self._able else "failures"

    def _launch(self, counted: _Counted) -> None:
        watch, planned = Stopwatch(), counted.model.planned
        (cell,) = planned.group.cells
        self._rounds.say(Activity("counted-launch", cell.label))
        # the answers of the whole model were compared with the expected ones when it was profiled
        setting = Setting(planned, self._task.timing, self._task.logs, Expected(None, None), self._rounds.watch)
        folder = self._task.scratch / str(next(self._folders))
        try:
            found = count_cell(cell, setting, self._task.counting, folder)
            counted.add(CountedLaunch(self._rounds.finished, found.counts, found.nodes_missing))
        except CellFailed as failed:
            counted.part = replace(counted.part, failure=failed.failure)
        self._longest_s = max(self._longest_s, watch.elapsed_s)

    def _commit(self, stopped_by: LaunchesStop) -> None:
        self._counters = replace(
            self._counters,
            parts=(*(counted.part for counted in self._counted), *self._never_launched),
            stopped_by=stopped_by,
            seconds=self._rounds.watch.elapsed_s,
        )
        self._keep(self._counters)
