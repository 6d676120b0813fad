"""Which target measures what next: a state machine without a clock, a network or a process.

Every target has at most one job in flight. A job that is lost with its target goes to the front of its queue. Its
launches are stored on that target, so it is left to it for as long as others have something else to measure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from irbench.features.fleet.jobs import Job

GivenUp: TypeAlias = Literal["deaths", "busy", "no-target"]
"""Why a job is not tried again: its process was killed again and again; somebody else measured for too long; no target
of its pool is left."""
MOST_DEATHS = 5
"""A job that took its process or worker with it so often is not tried again."""
MOST_BUSY = 20
"""So often a job is put off because somebody else measures on its target."""


@dataclass(frozen=True)
class Assignment:
    """A job for a target."""

    target: str
    job: Job


@dataclass(frozen=True)
class Gone:
    """A job that is not tried again, and why."""

    job: Job
    reason: GivenUp


@dataclass
class _Target:
    pool: str
    is_here: bool = False
    job: Job | None = None
    ready_at: float = 0.0


@dataclass
class _History:
    begun_on: str = ""
    deaths: int = 0
    busy: int = 0


@dataclass
class JobQueue:
    """Jobs that wait, and targets that measure.

    Args:
        jobs: What is left to do, in the order in which a pool of one target takes it.
        pools: The pool of each target.
        patience_s: For how long a target that left is expected back.
        begun: Which target began a job in an earlier call, by the id of the job.
    """

    jobs: Sequence[Job]
    pools: Mapping[str, str]
    patience_s: float = 600.0
    begun: Mapping[str, str] = field(default_factory=dict[str, str])
    gone: list[Gone] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._targets = {name: _Target(pool) for name, pool in self.pools.items()}
        self._history = {job.id: _History(self._begun_on(job)) for job in self.jobs}
        self._waiting: dict[str, list[Job]] = {pool: [] for pool in self.pools.values()}
        for job in self.jobs:
            self._waiting.setdefault(job.pool, []).append(job)
        sizes = list(self.pools.values())
        for pool, jobs in self._waiting.items():
            if sizes.count(pool) > 1:  # the longest first, so that none is left for the end
                jobs.sort(key=lambda job: -job.seconds)
        self._left_at: dict[str, float] = dict.fromkeys(self._targets, 0.0)

    @property
    def is_over(self) -> bool:
        """Whether nothing waits and nothing is measured."""
        return not any(self._waiting.values()) and all(target.job is None for target in self._targets.values())

    def job_of(self, target: str) -> Job | None:
        """Return what a target measures."""
        return self._targets[target].job

    def is_here(self, target: str) -> bool:
        """Return whether a target is there."""
        return self._targets[target].is_here

    def joined(self, target: str) -> None:
        """Take in that a target is there."""
        self._targets[target].is_here = True

    def left(self, target: str, now_s: float) -> None:
        """Take in that a target is not there any more; what it measured waits again."""
        known = self._targets[target]
        if known.is_here:
            self._left_at[target] = now_s
        known.is_here = False
        self._lose(target)

    def refused(self, target: str) -> None:
        """Take in that a target may not measure, and is not expected to."""
        self._targets[target].is_here = False
        self._left_at[target] = -self.patience_s
        self._lose(target, is_its_fault=False)

    def died(self, target: str) -> None:
        """Take in that a job's process was killed, on a target that goes on."""
        self._lose(target)

    def busy(self, target: str, until_s: float) -> None:
        """Take in that somebody else measures on a target, which is asked again later."""
        known = self._targets[target]
        known.ready_at = until_s
        job = known.job
        self._lose(target, is_its_fault=False)
        if job is not None:
            history = self._history[job.id]
            history.busy += 1
            if history.busy >= MOST_BUSY:
                self._give_up(job, "busy")

    def finished(self, target: str) -> Job | None:
        """Take in that a target has done its job, and return that."""
        known = self._targets[target]
        job, known.job = known.job, None
        return job

    def assignments(self, now_s: float) -> tuple[Assignment, ...]:
        """Return what begins now, and give up what nobody is left for."""
        begun = tuple(self._assigned(now_s))
        for pool, jobs in self._waiting.items():
            if jobs and not any(self._is_expected(name, now_s) for name in self.targets_of(pool)):
                for job in tuple(jobs):
                    self._give_up(job, "no-target")
        return begun

    def _assigned(self, now_s: float) -> Iterator[Assignment]:
        for name, target in self._targets.items():
            if target.is_here and target.job is None and target.ready_at <= now_s:
                job = self._next(name, now_s)
                if job is not None:
                    self._waiting[target.pool].remove(job)
                    self._history[job.id].begun_on = name
                    target.job = job
                    yield Assignment(name, job)

    def _next(self, name: str, now_s: float) -> Job | None:
        """Return what a target measures next: first what it has begun, last what another has."""
        waiting = self._waiting[self._targets[name].pool]
        free = [job for job in waiting if self._is_for(job, name, now_s)]
        own = (job for job in free if self._history[job.id].begun_on == name)
        return next(own, next(iter(free or waiting), None))

    def _begun_on(self, job: Job) -> str:
        """Return which target began a job before; empty where none of its pool did."""
        name = self.begun.get(job.id, "")
        return name if self.pools.get(name) == job.pool else ""

    def _is_for(self, job: Job, name: str, now_s: float) -> bool:
        begun_on = self._history[job.id].begun_on
        return begun_on in ("", name) or not self._is_expected(begun_on, now_s)

    def _is_expected(self, name: str, now_s: float) -> bool:
        return self._targets[name].is_here or now_s - self._left_at[name] < self.patience_s

    def targets_of(self, pool: str) -> Iterator[str]:
        """Yield the names of the targets of a pool."""
        return (name for name, target in self._targets.items() if target.pool == pool)

    def _lose(self, target: str, *, is_its_fault: bool = True) -> None:
        job = self.finished(target)
        if job is None:
            return
        self._waiting[job.pool].insert(0, job)
        history = self._history[job.id]
        history.deaths += is_its_fault
        if history.deaths >= MOST_DEATHS:
            self._give_up(job, "deaths")

    def _give_up(self, job: Job, reason: GivenUp) -> None:
        self._waiting[job.pool].remove(job)
        self.gone.append(Gone(job, reason))
