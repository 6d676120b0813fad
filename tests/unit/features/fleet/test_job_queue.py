"""Every job is measured once, whatever happens to the targets, or is given up with a reason."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies

from benchmarks.fleet_simulation import simulate, uniform_jobs
from irbench.features.fleet.job_queue import MOST_BUSY, MOST_DEATHS, JobQueue
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
    for _ in range(MOST_DEATHS):
        assert assigned(jobs) == {"a": "a-0"}
        jobs.died("a")
    assert [gone.reason for gone in jobs.gone] == ["deaths"]
    assert assigned(jobs) == {"a": "a-1"}


def test_a_busy_target_is_asked_later_but_not_for_ever():
    jobs = queue(1, a="a")
    jobs.joined("a")
    for number in range(MOST_BUSY):
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


def test_without_deaths_a_hundred_targets_come_within_5_percent_of_the_bound():
    outcome = simulate(uniform_jobs(2000, seed=1), 100, 0.0, seed=1)
    assert outcome.makespan_s <= 1.05 * outcome.bound_s
    assert len(outcome.measured) == 2000
