"""The journal says what targets made of jobs, and nothing of what happened to the cluster."""

from __future__ import annotations

import asyncio
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

from irbench import __version__
from irbench.api.progress import Reporter
from irbench.features.fleet import target_files, worker_tasks
from irbench.features.fleet.cluster import Member, SchedulerLost
from irbench.features.fleet.coordinator import Coordinator
from irbench.features.fleet.job_queue import JobQueue
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.journal import Journal, JournalDocument, journal_to_write, read_journal
from irbench.features.fleet.messages import JobOutcome, JobRequest, TableOutcome, TargetFacts, packed
from irbench.features.fleet.progress import FleetProgress
from irbench.features.fleet.targets import FleetFile, Target
from irbench.features.plan.expansion import SweepCell, SweepTable

pytestmark = pytest.mark.usefixtures("own_home")
_JOB = "0123456789ab"
TABLE = SweepTable((SweepCell({"models": "a.onnx"}),), ())


class Cluster:
    """A cluster of one target, which answers a job with an outcome or an exception."""

    def __init__(self, answer: JobOutcome | Exception) -> None:
        self.answer = answer

    async def members(self) -> dict[str, Member]:
        return {"tls://a:1": Member("a", "tls://a:1", measures=True)}

    async def call(self, _: Member, function: Any, *arguments: Any, measures: bool = False) -> Any:
        if function is worker_tasks.describe:
            return packed(facts())
        if measures:
            if isinstance(self.answer, Exception):
                raise self.answer
            return packed(self.answer)
        return function(*arguments)


def facts() -> TargetFacts:
    return TargetFacts(
        irbench_version=__version__,
        python="3.12",
        machine="m",
        processor="p",
        processors=1,
        memory_bytes=1,
        distributions={"distributed": metadata.version("distributed")},
        utc="",
    )


class Shipments:
    """No files at all."""

    def request(self, job: Job, name: str) -> JobRequest:
        return JobRequest(job=job.id, name=name, tables=(), files=(), places={})


def run(results: Path, answer: JobOutcome | Exception) -> JournalDocument:
    """Have the target measure one job, of which it has a folder, and return what the journal says."""
    folder = target_files.job_folder(_JOB)
    folder.mkdir(parents=True)
    (folder / "launches").write_text("")
    journal: Journal = journal_to_write(results, "f", {}, 1, resume=False)
    journal.begin()
    shipments: Any = Shipments()
    cluster: Any = Cluster(answer)
    progress = FleetProgress(Reporter(lambda _: None, lambda _: None), 1)
    queue = JobQueue((Job(_JOB, "a", (TABLE,), 1.0),), {"a": "a"})
    fleet = FleetFile((Target(name="a"),))
    try:
        asyncio.run(Coordinator(fleet, queue, shipments, journal, results, progress).run(cluster))
    finally:
        journal.close()
    document = read_journal(results, "f")
    assert document is not None
    return document


def test_a_scheduler_that_is_gone_ends_the_call_and_no_job_is_recorded(tmp_path: Path):
    with pytest.raises(SchedulerLost):
        run(tmp_path, SchedulerLost())
    document = read_journal(tmp_path, "f")
    assert document is not None
    assert not document.jobs


def test_a_target_removes_the_folder_of_a_job_that_the_journal_has(tmp_path: Path):
    document = run(tmp_path, JobOutcome(kind="measured"))
    assert document.jobs[_JOB].is_done
    assert not target_files.job_folder(_JOB).exists()


@pytest.mark.parametrize(
    "outcome",
    [
        JobOutcome(kind="refused", message="no"),
        JobOutcome(kind="measured", tables=(TableOutcome("t", message="a disk is full"),)),
    ],
)
def test_a_target_keeps_what_it_has_of_a_job_that_is_tried_again(tmp_path: Path, outcome: JobOutcome):
    document = run(tmp_path, outcome)
    assert not document.jobs[_JOB].is_done
    assert target_files.job_folder(_JOB).exists()
