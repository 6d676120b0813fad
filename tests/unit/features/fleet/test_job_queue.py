"""Every job is measured once, whatever happens to the targets, or is given up with a reason."""

from __future__ import annotations

import random
from math import inf

import hypothesis
from hypothesis import strategies

from benchmarks.fleet_simulation import simulate, uniform_jobs
from irbench.features.fleet.job_queue import MOST_LOSSES, JobQueue
from irbench.features.fleet.jobs import Job

_PATIENCE_S = 600.0


def queue(count: int, **pools: str) -> JobQueue:
    jobs = [Job(f"{pool}-{number}", pool, (), 60.0 + number) for pool in {*pools.values()} for number in range(count)]
    return JobQueue(jobs, pools, _PATIENCE_S)


def assigned(jobs: JobQueue, now_s: float = 0.0) -> dict[str, str]:
    return {assignment.target: assignment.job.id for assignment in jobs.assignments(now_s)}


def test_a_target_has_one_job_at_a_time_and_only_those_of_its_pool():
    jobs = queue(2, a="a", b="b")
    jobs.joined("a")
    assert assigned(jobs) == {"a": "a-0"}
    assert assigned(jobs) == {}
    jobs.joined("b")
    assert assigned(jobs) == {"b": "b-0"}
    assert jobs.finished("a") is not None
    assert assigned(jobs) == {"a": "a-1"}


def test_a_pool_of_several_begins_with_the_longest_job():
    jobs = queue(3, a="p", b="p")
    jobs.joined("a")
    jobs.joined("b")
    assert assigned(jobs) == {"a": "p-2", "b": "p-1"}


def test_a_lost_job_is_left_to_the_target_that_has_its_launches_while_others_have_something_else():
    jobs = queue(3, a="p", b="p")
    jobs.joined("a")
    assert assigned(jobs) == {"a": "p-2"}
    jobs.left("a", now_s=10.0)
    jobs.joined("b")
    assert assigned(jobs, 20.0) == {"b": "p-1"}
    jobs.joined("a")
    assert assigned(jobs, 30.0) == {"a": "p-2"}
    jobs.left("a", now_s=40.0)
    jobs.finished("b")
    assert assigned(jobs, 50.0) == {"b": "p-0"}
    jobs.finished("b")
    assert assigned(jobs, 60.0) == {"b": "p-2"}


def resumed(**begun: str) -> JobQueue:
    """Return a queue of three jobs for two targets of a pool, of which an earlier call has begun some."""
    jobs = [Job(name, "p", (), seconds) for name, seconds in (("long", 90.0), ("middle", 80.0), ("short", 70.0))]
    return JobQueue(jobs, {"a": "p", "b": "p"}, _PATIENCE_S, begun)


def test_a_call_that_goes_on_gives_jobs_to_the_targets_that_began_them():
    jobs = resumed(long="a", short="b")
    jobs.joined("b")
    assert assigned(jobs) == {"b": "short"}
    jobs.joined("a")
    assert assigned(jobs) == {"a": "long"}


def test_a_job_that_was_begun_elsewhere_is_taken_last_and_at_once_where_nobody_else_can():
    jobs = resumed(long="a", middle="a")
    jobs.joined("b")
    assert assigned(jobs) == {"b": "short"}
    jobs.finished("b")
    assert assigned(jobs, 10.0) == {"b": "long"}
    gone = resumed(long="left-the-fleet")
    gone.joined("b")
    assert assigned(gone) == {"b": "long"}


def test_a_job_of_a_target_that_does_not_return_is_given_up():
    jobs = queue(2, a="a", b="b")
    for name in "ab":
        jobs.joined(name)
    assigned(jobs)
    jobs.left("a", now_s=5.0)
    assigned(jobs, 5.0 + _PATIENCE_S)
    assert [(gone.job.id, gone.reason) for gone in jobs.gone] == [("a-0", "no-target"), ("a-1", "no-target")]
    assert not jobs.is_over
    jobs.finished("b")
    assigned(jobs)
    jobs.finished("b")
    assert jobs.is_over


def test_a_refused_target_is_not_waited_for():
    jobs = queue(1, a="a")
    jobs.refused("a")
    assigned(jobs)
    assert [gone.reason for gone in jobs.gone] == ["no-target"]
    assert jobs.is_over


def test_a_job_that_kills_its_process_again_and_again_is_given_up_and_the_others_go_on():
    jobs = queue(2, a="a")
    jobs.joined("a")
    for _ in range(int(MOST_LOSSES["deaths"])):
        assert assigned(jobs) == {"a": "a-0"}
        jobs.died("a")
    assert [gone.reason for gone in jobs.gone] == ["deaths"]
    assert assigned(jobs) == {"a": "a-1"}


def test_a_busy_target_is_asked_later_but_not_for_ever():
    jobs = queue(1, a="a")
    jobs.joined("a")
    for number in range(int(MOST_LOSSES["busy"])):
        assert assigned(jobs, 30.0 * number) == {"a": "a-0"}
        jobs.busy("a", 30.0 * (number + 1))
        assert assigned(jobs, 30.0 * number + 1) == {}
    assert [gone.reason for gone in jobs.gone] == ["busy"]


@hypothesis.given(
    strategies.integers(1, 8),
    strategies.integers(1, 30),
    strategies.integers(0, 2**32 - 1),
    strategies.sampled_from([0.0, 0.02, 0.2]),
)
def test_whatever_dies_nothing_is_lost_and_nothing_is_measured_twice(
    targets: int, jobs: int, seed: int, death_rate: float
):
    outcome = simulate(uniform_jobs(jobs, seed), targets, death_rate, seed)
    assert sorted(outcome.measured + outcome.given_up) == sorted(f"job-{number}" for number in range(jobs))
    assert len(set(outcome.measured)) == len(outcome.measured)


class Watched:
    """A queue, and what must be known of it to say which jobs a target may be given."""

    def __init__(self, jobs: list[Job], pools: dict[str, str]) -> None:
        self.queue = JobQueue(jobs, pools, _PATIENCE_S)
        self.waiting = {job.id: job for job in jobs}
        self.begun_on: dict[str, str] = {}
        self.expected_until = dict.fromkeys(pools, _PATIENCE_S)
        self.ready_at = dict.fromkeys(pools, 0.0)

    def happens(self, kind: str, name: str, now_s: float) -> None:
        job, was_here = self.queue.job_of(name), self.queue.is_here(name)
        if job is None and kind not in ("joined", "left"):
            return
        getattr(self.queue, kind)(name, *{"left": (now_s,), "busy": (now_s + 9,)}.get(kind, ()))
        if kind == "busy":
            self.ready_at[name] = now_s + 9
        if kind == "joined" or (kind == "left" and was_here):
            self.expected_until[name] = inf if kind == "joined" else now_s + _PATIENCE_S
        if job is not None and kind in ("left", "busy", "died"):
            self.waiting[job.id] = job

    def begin(self, now_s: float) -> None:
        """Have targets begin, each with something that it may be given."""
        already_gone = len(self.queue.gone)
        assigned = self.queue.assignments(now_s)
        for gone in self.queue.gone[:already_gone]:
            self.waiting.pop(gone.job.id, None)
        for assignment in assigned:
            name, job = assignment.target, assignment.job.id
            of_pool = {known.id for known in self.waiting.values() if known.pool == self.queue.pools[name]}
            own = {known for known in of_pool if self.begun_on.get(known) == name}
            kept = {known for known in of_pool if self.expected_until.get(self.begun_on.get(known, ""), 0.0) > now_s}
            assert job in (own or of_pool - kept or of_pool)
            del self.waiting[job]
            self.begun_on[job] = name
        for gone in self.queue.gone[already_gone:]:
            del self.waiting[gone.job.id]

    def is_idle(self, name: str, now_s: float) -> bool:
        return self.queue.is_here(name) and self.queue.job_of(name) is None and self.ready_at[name] <= now_s


@hypothesis.given(strategies.integers(0, 2**32 - 1))
def test_whatever_happens_targets_are_never_idle_in_vain_first_go_on_and_take_last_what_another_began(seed: int):
    draw = random.Random(seed)
    pools = {f"t{number}": draw.choice("ab") for number in range(6)}
    watched = Watched([Job(f"{number}", draw.choice("ab"), (), 1.0) for number in range(30)], pools)
    now_s = 0.0
    for _ in range(200):
        now_s += draw.choice([0.0, 3.0, 30.0, _PATIENCE_S])
        kind = draw.choice(["joined", "joined", "finished", "finished", "left", "busy", "died"])
        watched.happens(kind, draw.choice(list(pools)), now_s)
        watched.begin(now_s)
        wanted = {job.pool for job in watched.waiting.values()}
        assert not any(pool in wanted and watched.is_idle(name, now_s) for name, pool in pools.items())
        assert watched.queue.is_over == (not watched.waiting and not any(map(watched.queue.job_of, pools)))


def test_without_deaths_a_hundred_targets_come_within_5_percent_of_the_bound():
    outcome = simulate(uniform_jobs(2000, seed=1), 100, 0.0, seed=1)
    assert outcome.makespan_s <= 1.05 * outcome.bound_s
    assert len(outcome.measured) == 2000
