"""Which target measures what next: a state machine without a clock, a network or a process.

Every target has at most one job in flight. A job that is lost with its target goes to the front of its queue. Its
launches are stored on that target, so it is left to it for as long as others have something else to measure.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Literal, TypeAlias

from irbench.features.fleet.jobs import Job

GivenUp: TypeAlias = Literal["deaths", "busy", "no-target"]
"""Why a job is not tried again: its process was killed again and again; somebody else measured for too long; no target
of its pool is left."""
MOST_LOSSES: Mapping[GivenUp, float] = {"deaths": 5, "busy": 20, "no-target": inf}
"""A job that was lost so often for a reason is not tried again."""


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
class _Pool:
    """Targets that share jobs.

    Attributes:
        expected: How many of its targets are there, or expected back.
        idle: Those that may have nothing to do.
        free: Jobs that wait for anybody, by the target that began them before it was given up; empty where none did.
        kept: Jobs that wait for the target that began them, which is expected, while others have something else to do.
    """

    targets: list[str] = field(default_factory=list[str])
    expected: int = 0
    idle: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])
    free: OrderedDict[str, deque[Job]] = field(default_factory=OrderedDict[str, deque[Job]])
    kept: OrderedDict[str, deque[Job]] = field(default_factory=OrderedDict[str, deque[Job]])

    def take(self, name: str) -> Job | None:
        """Return what a target measures next: first what it has begun, last what another has."""
        waiting = self.kept if name in self.kept else self.free or self.kept
        if not waiting:
            return None
        begun_on = name if name in self.kept else next(iter(waiting))
        job = waiting[begun_on].popleft()
        if not waiting[begun_on]:
            del waiting[begun_on]
        return job


@dataclass
class _Target:
    """A target, which is expected while it is there, and for some time after it left."""

    pool: _Pool
    expected_until_s: float
    is_expected: bool = True
    is_here: bool = False
    job: Job | None = None
    ready_at: float = 0.0


@dataclass
class JobQueue:
    """Jobs that wait, and targets that measure; what an event costs does not grow with their numbers.

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
        names = dict.fromkeys((*self.pools.values(), *(job.pool for job in self.jobs)))
        self._pools = {pool: _Pool() for pool in names}
        self._targets = {name: _Target(self._pools[pool], self.patience_s) for name, pool in self.pools.items()}
        for name, target in self._targets.items():
            target.pool.targets.append(name)
            target.pool.expected += 1
        is_shared = {name: len(pool.targets) > 1 for name, pool in self._pools.items()}
        # several targets begin with the longest job, so that none is left for the end
        for job in sorted(self.jobs, key=lambda job: -job.seconds * is_shared[job.pool]):
            pool, begun_on = self._pools[job.pool], self.begun.get(job.id, "")
            waiting, owner = (pool.kept, begun_on) if self.pools.get(begun_on) == job.pool else (pool.free, "")
            waiting.setdefault(owner, deque()).append(job)
        self._open = len(self.jobs)
        self._losses: Counter[tuple[str, GivenUp]] = Counter()
        self._timers = [(self.patience_s, name) for name in self.pools]  # when a target is to be looked at again
        self._changed = list(self._pools.values())

    @property
    def is_over(self) -> bool:
        """Whether nothing waits and nothing is measured."""
        return self._open == 0

    def job_of(self, target: str) -> Job | None:
        """Return what a target measures."""
        return self._targets[target].job

    def is_here(self, target: str) -> bool:
        """Return whether a target is there."""
        return self._targets[target].is_here

    def targets_of(self, pool: str) -> Sequence[str]:
        """Return the names of the targets of a pool."""
        return self._pools[pool].targets

    def joined(self, target: str) -> None:
        """Take in that a target is there."""
        self._targets[target].is_here = True
        self._expect(target, is_expected=True)
        self._look_at(target)

    def left(self, target: str, now_s: float) -> None:
        """Take in that a target is not there any more; what it measured waits again."""
        known = self._targets[target]
        if known.is_here:
            known.is_here = False
            known.expected_until_s = now_s + self.patience_s
            heappush(self._timers, (known.expected_until_s, target))
        self._lose(target, "deaths")

    def refused(self, target: str) -> None:
        """Take in that a target may not measure, and is not expected to."""
        self._targets[target].is_here = False
        self._lose(target, "no-target")
        self._expect(target, is_expected=False)

    def died(self, target: str) -> None:
        """Take in that a job's process was killed, on a target that goes on."""
        self._lose(target, "deaths")

    def busy(self, target: str, until_s: float) -> None:
        """Take in that somebody else measures on a target, which is asked again later."""
        self._targets[target].ready_at = until_s
        heappush(self._timers, (until_s, target))
        self._lose(target, "busy")

    def finished(self, target: str) -> Job | None:
        """Take in that a target has done its job, and return that."""
        job = self._released(target)
        self._open -= job is not None
        return job

    def assignments(self, now_s: float) -> tuple[Assignment, ...]:
        """Return what begins now, and give up what nobody is left for."""
        while self._timers and self._timers[0][0] <= now_s:
            name = heappop(self._timers)[1]
            if not self._targets[name].is_here and self._targets[name].expected_until_s <= now_s:
                self._expect(name, is_expected=False)
            self._look_at(name)
        changed, self._changed = self._changed, []
        return tuple(assignment for pool in changed for assignment in self._assigned(pool, now_s))

    def _assigned(self, pool: _Pool, now_s: float) -> Iterator[Assignment]:
        while pool.idle and (pool.free or pool.kept):
            name, _ = pool.idle.popitem(last=False)
            target = self._targets[name]
            if target.is_here and target.job is None and target.ready_at <= now_s:
                target.job = pool.take(name)
                assert target.job is not None
                yield Assignment(name, target.job)
        while not pool.expected and (job := pool.take("")) is not None:
            self._give_up(job, "no-target")

    def _look_at(self, name: str) -> None:
        """Have a target that may have nothing to do considered with the next assignments."""
        pool = self._targets[name].pool
        pool.idle[name] = None
        self._changed.append(pool)

    def _expect(self, name: str, *, is_expected: bool) -> None:
        """Keep what a target has begun for it from now on, or for nobody."""
        target, pool = self._targets[name], self._targets[name].pool
        if is_expected != target.is_expected:
            target.is_expected = is_expected
            pool.expected += 1 if is_expected else -1
            before, after = (pool.free, pool.kept) if is_expected else (pool.kept, pool.free)
            if name in before:
                after[name] = before.pop(name)
                after.move_to_end(name, last=False)

    def _released(self, name: str) -> Job | None:
        target = self._targets[name]
        job, target.job = target.job, None
        self._look_at(name)
        return job

    def _lose(self, name: str, reason: GivenUp) -> None:
        """Have what a target measured wait at the front, or give it up where a reason has lost it too often."""
        target, job = self._targets[name], self._released(name)
        if job is None:
            return
        self._losses[job.id, reason] += 1
        if self._losses[job.id, reason] >= MOST_LOSSES[reason]:
            self._give_up(job, reason)
            return
        waiting = target.pool.kept if target.is_expected else target.pool.free
        waiting.setdefault(name, deque()).appendleft(job)
        waiting.move_to_end(name, last=False)

    def _give_up(self, job: Job, reason: GivenUp) -> None:
        self._open -= 1
        self.gone.append(Gone(job, reason))
