"""A fleet in virtual time: targets measure, die and return, and the queue of the package decides what is next."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass

from irbench.features.fleet.job_queue import JobQueue
from irbench.features.fleet.jobs import Job

POOL = "pool"
_AWAY_S = 120.0


class Witness:
    """Is told of each event, and does nothing."""

    def joined(self, name: str) -> None:
        """Take in that a target is there."""

    def left(self, name: str) -> None:
        """Take in that a target died with its job."""

    def begun(self, name: str, job: Job) -> None:
        """Take in that a target begins a job."""

    def ended(self, name: str, job: Job) -> None:
        """Take in that a target has measured a job."""


@dataclass(frozen=True)
class Simulated:
    """What came of it.

    Attributes:
        makespan_s: When the last job ended.
        bound_s: No schedule on these targets ends earlier: the work over the targets, and the longest job.
        events: How often a target joined, died or ended a job.
    """

    measured: list[str]
    given_up: list[str]
    deaths: int
    makespan_s: float
    bound_s: float
    events: int


def uniform_jobs(count: int, seed: int) -> list[Job]:
    """Return jobs of 30 s to 150 s, the time of a table with the usual budget."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    return [Job(f"job-{number}", POOL, (), draw.uniform(30.0, 150.0)) for number in range(count)]


def simulate(
    jobs: Sequence[Job], targets: int, death_rate: float, seed: int, witness: Witness | None = None
) -> Simulated:
    """Measure jobs on targets, each of which dies with some probability in a job, and returns after 2 minutes.

    A job needs only the rest of its time on the target that began it, and all of it on another one.
    """
    witness = witness or Witness()
    draw = random.Random(seed)  # noqa: S311 - no secret
    names = [f"target-{number}" for number in range(targets)]
    queue = JobQueue(jobs, dict.fromkeys(names, POOL))
    events: list[tuple[float, int, str, str]] = [(0.0, number, "join", name) for number, name in enumerate(names)]
    left = {job.id: job.seconds for job in jobs}
    begun_on: dict[str, str] = {}
    measured: list[str] = []
    now_s = makespan_s = 0.0
    count, deaths, taken = len(names), 0, 0
    while events:
        taken += 1
        now_s, _, kind, name = heapq.heappop(events)
        if kind == "join":
            queue.joined(name)
            witness.joined(name)
        elif kind == "end":
            job = queue.finished(name)
            assert job is not None
            measured.append(job.id)
            witness.ended(name, job)
            makespan_s = now_s
        elif kind == "die":
            deaths += 1
            queue.left(name, now_s)
            witness.left(name)
            count += 1
            heapq.heappush(events, (now_s + draw.uniform(1.0, 2 * _AWAY_S), count, "join", name))
        for assignment in queue.assignments(now_s):
            witness.begun(assignment.target, assignment.job)
            if begun_on.setdefault(assignment.job.id, assignment.target) != assignment.target:
                begun_on[assignment.job.id] = assignment.target
                left[assignment.job.id] = assignment.job.seconds
            needed_s = left[assignment.job.id]
            dies = draw.random() < death_rate
            spent_s = needed_s * draw.random() if dies else needed_s
            left[assignment.job.id] -= spent_s
            count += 1
            heapq.heappush(events, (now_s + spent_s, count, "die" if dies else "end", assignment.target))
    work_s = sum(job.seconds for job in jobs)
    bound_s = max(work_s / targets, *(job.seconds for job in jobs))
    return Simulated(measured, [gone.job.id for gone in queue.gone], deaths, makespan_s, bound_s, taken)
