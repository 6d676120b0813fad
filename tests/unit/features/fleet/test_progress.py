"""What is told while a fleet measures stays short, however many targets there are."""

from __future__ import annotations

from irbench.api.progress import Reporter
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.journal import JobRecord
from irbench.features.fleet.messages import TargetFacts
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.progress import MOST_TARGETS, FleetProgress
from irbench.features.plan.expansion import SweepCell, SweepTable

_FACTS = TargetFacts(
    irbench_version="",
    python="",
    machine="",
    processor="Xeon",
    processors=2,
    memory_bytes=1,
    distributions={},
    utc="",
)
_JOB = Job("j", "p", (SweepTable((SweepCell({"batch": 1}),), ()),), 1.0)


def shown(targets: int) -> tuple[FleetProgress, list[str]]:
    """Return the progress of targets that wait, and the statuses that it shows."""
    statuses: list[str] = []
    progress = FleetProgress(Reporter(lambda _: None, lambda _: None, statuses.append), 5)
    for number in range(targets):
        progress.ready(f"target-{number:03}", _FACTS, None)
    return progress, statuses


def test_few_targets_have_a_line_each_by_their_names():
    progress, statuses = shown(2)
    progress.begun("target-001", _JOB)
    progress.ended("target-001", _JOB, JobRecord(job="j", pool="p", kind="measured"))
    assert statuses[-1].splitlines() == [
        "1 of 5 jobs ended",
        "  target-000    0 ended  waits",
        "  target-001    1 ended  waits",
    ]


def test_of_many_targets_those_that_measure_or_have_a_problem_are_shown_and_the_others_counted():
    progress, statuses = shown(1000)
    progress.begun("target-900", _JOB)
    progress.not_there("target-800", TargetProblem(code="cut"))
    head, *lines, last = statuses[-1].splitlines()
    assert (head, len(lines), last) == ("0 of 5 jobs ended", MOST_TARGETS, "  and 980 other targets")
    assert [line.split()[0] for line in lines[-2:]] == ["target-800", "target-900"]
    assert "measures" in lines[-1]


def test_a_target_that_has_ended_its_job_makes_room_for_others():
    progress, statuses = shown(30)
    for number in range(30):
        progress.begun(f"target-{number:03}", _JOB)
    assert "target-029" not in statuses[-1]
    for number in range(20):
        progress.ended(f"target-{number:03}", _JOB, JobRecord(job="j", pool="p", kind="measured"))
    assert all(f"target-{number:03}" in statuses[-1] for number in range(20, 30))
    assert statuses[-1].endswith("and 10 other targets")
