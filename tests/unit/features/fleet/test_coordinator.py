"""The journal says what targets made of jobs, and nothing of what happened to the cluster."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import documents
import msgspec
import pytest

pytest.importorskip("distributed")

from irbench import __version__
from irbench.api.progress import Reporter
from irbench.features.fleet import coordinator
from irbench.features.fleet.cluster import CallFailed, SchedulerLost
from irbench.features.fleet.coordinator import Coordinator
from irbench.features.fleet.dask_process import Member
from irbench.features.fleet.job_queue import JobQueue
from irbench.features.fleet.jobs import Job
from irbench.features.fleet.journal import Journal, JournalDocument, Unwritable, journal_to_write, read_journal
from irbench.features.fleet.messages import JobOutcome, JobRequest, TableOutcome, TargetFacts, packed
from irbench.features.fleet.on_target import files, tasks
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.progress import MOST_TARGETS, FleetProgress
from irbench.features.fleet.targets import FleetFile, Target
from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.measure.clock import utc_now

pytestmark = pytest.mark.usefixtures("own_home")
_JOB = "0123456789ab"
TABLE = SweepTable((SweepCell({"models": "a.onnx"}),), ())
MEASURED = JobOutcome(kind="measured", tables=(TableOutcome(TABLE.id),))


class Cluster:
    """A cluster of targets, each of which answers every job in one way: an outcome, bytes, or an exception."""

    def __init__(self, answers: Mapping[str, JobOutcome | bytes | Exception], facts: TargetFacts | str) -> None:
        self.answers = answers
        self.facts = facts
        self.changed = asyncio.Event()
        self._members = {name: Member(name, f"tls://{name}:1", measures=True) for name in answers}

    async def members(self) -> Mapping[str, Member]:
        return self._members

    async def call(
        self, member: Member, task: str, *arguments: Any, measures: bool = False, most_bytes: int = 0
    ) -> Any:
        if task == "describe":
            if isinstance(self.facts, str):
                raise CallFailed
            return packed(msgspec.structs.replace(self.facts, machine=member.name))
        if task == "version":
            return str(self.facts).encode()
        if measures:
            answer = self.answers[member.name]
            if isinstance(answer, Exception):
                raise answer
            return answer if isinstance(answer, bytes) else packed(answer)
        return tasks.TASKS[task](*arguments)


def facts(utc: str = "") -> TargetFacts:
    return TargetFacts(
        irbench_version=__version__,
        python="3.12",
        machine="m",
        processor="p",
        processors=1,
        memory_bytes=1,
        distributions={"distributed": metadata.version("distributed")},
        utc=utc,
    )


class Shipments:
    """No files at all."""

    def request(self, job: Job, name: str) -> JobRequest:
        return JobRequest(job=job.id, name=name, tables=(), files=(), places={})

    def models(self, _: Job) -> frozenset[str]:
        return frozenset({"ab"})


def run(
    results: Path, answer: JobOutcome | Exception, told: TargetFacts | str | None = None, said: list[str] | None = None
) -> JournalDocument:
    """Have the target measure one job, of which it has a folder, and return what the journal says.

    Args:
        results: Where runs are stored.
        answer: To the job.
        told: What the target says of itself; its version of irbench where that answers in no way that this one reads.
        said: Takes the lines that are told.
    """
    folder = files.job_folder(_JOB)
    folder.mkdir(parents=True)
    (folder / "launches").write_text("")
    journal: Journal = journal_to_write(results, "f", {}, 1, resume=False)
    journal.begin()
    shipments: Any = Shipments()
    cluster: Any = Cluster({"a": answer}, facts() if told is None else told)
    say = [].append if said is None else said.append
    progress = FleetProgress(Reporter(say, lambda _: None), 1)
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
    document = run(tmp_path, MEASURED)
    assert document.jobs[_JOB].is_done
    assert not files.job_folder(_JOB).exists()


@pytest.mark.parametrize(
    "outcome",
    [
        JobOutcome(kind="refused", message="no"),
        JobOutcome(kind="measured", tables=(TableOutcome(TABLE.id, message="a disk is full"),)),
    ],
)
def test_a_target_keeps_what_it_has_of_a_job_that_is_tried_again(tmp_path: Path, outcome: JobOutcome):
    document = run(tmp_path, outcome)
    assert not document.jobs[_JOB].is_done
    assert files.job_folder(_JOB).exists()


def test_an_old_irbench_that_answers_otherwise_is_refused_with_both_versions(tmp_path: Path):
    said: list[str] = []
    document = run(tmp_path, MEASURED, "0.0.9", said)
    problem = document.targets["a"].problem
    assert problem is not None
    assert (problem.code, problem.there, problem.needed) == ("irbench-version", "0.0.9", __version__)
    assert any("0.0.9" in line and __version__ in line for line in said)
    assert said[-1].startswith(f"a: {TABLE.label}: not measured: a: it has irbench 0.0.9")
    assert (document.jobs[_JOB].kind, document.jobs[_JOB].problems) == ("no-target", {"a": problem})


@pytest.mark.parametrize("hours", [-24, 24])
def test_a_clock_that_is_a_day_off_is_told_and_the_target_measures(tmp_path: Path, hours: int):
    said: list[str] = []
    utc = (utc_now() + timedelta(hours=hours)).isoformat()
    document = run(tmp_path, MEASURED, facts(utc), said)
    assert document.jobs[_JOB].is_done
    assert document.targets["a"].clock_ahead_s == pytest.approx(hours * 3600, abs=60)
    assert any("clock" in line for line in said)


def test_what_cannot_be_stored_here_ends_the_call_in_a_line_and_its_target_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(coordinator, "require_room", full)
    outcome = JobOutcome(
        kind="measured", tables=(TableOutcome(TABLE.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),), archive=b"cut short"
    )
    with pytest.raises(Unwritable, match="No space left"):
        run(tmp_path, outcome)
    document = read_journal(tmp_path, "f")
    assert document is not None
    assert not document.jobs
    assert files.job_folder(_JOB).exists()


def test_a_target_that_sends_a_damaged_archive_measures_nothing_more_where_the_disk_has_room(tmp_path: Path):
    outcome = JobOutcome(
        kind="measured", tables=(TableOutcome(TABLE.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),), archive=b"cut short"
    )
    document = run(tmp_path, outcome)
    problem = document.targets["a"].problem
    assert problem is not None
    assert (problem.code, document.jobs[_JOB].kind) == ("not-asked", "no-target")
    assert files.job_folder(_JOB).exists()


def test_the_last_words_of_a_process_that_is_killed_again_and_again_are_kept(tmp_path: Path):
    document = run(tmp_path, JobOutcome(kind="died", message="its process ended with signal 9"))
    assert (document.jobs[_JOB].kind, document.jobs[_JOB].message) == ("deaths", "its process ended with signal 9")


def test_a_target_that_can_keep_no_files_measures_nothing_more_and_its_job_is_left_to_others(tmp_path: Path):
    said: list[str] = []
    document = run(tmp_path, JobOutcome(kind="unwritable", message="/home: No space left on device"), said=said)
    problem = document.targets["a"].problem
    assert problem is not None
    assert (problem.code, problem.said) == ("unwritable", "/home: No space left on device")
    assert (document.jobs[_JOB].kind, document.jobs[_JOB].problems) == ("no-target", {"a": problem})


@pytest.mark.parametrize("answer", [JobOutcome(kind="refused", message="no"), SchedulerLost()])
def test_the_journal_says_who_began_a_job_that_is_not_done(tmp_path: Path, answer: JobOutcome | Exception):
    with suppress(SchedulerLost):
        run(tmp_path, answer)
    document = read_journal(tmp_path, "f")
    assert document is not None
    assert document.begun == {_JOB: "a"}


def lost(root: Path, problems: dict[str, TargetProblem]) -> tuple[dict[str, str], str]:
    """Refuse all targets of a pool; return why its job is not measured, as codes by target, and what is said of it."""
    journal = journal_to_write(root, "f", {}, 1, resume=False)
    journal.begin()
    said: list[str] = []
    shipments: Any = Shipments()
    pools = {**dict.fromkeys(problems, "both"), "c": "other"}
    queue = JobQueue((Job(_JOB, "both", (TABLE,), 1.0),), pools)
    fleet = FleetFile(tuple(Target(name=name) for name in pools))
    progress = FleetProgress(Reporter(said.append, lambda _: None), 1)
    coordinator = Coordinator(fleet, queue, shipments, journal, root, progress)
    cluster: Any = Nobody()
    try:
        for name, problem in problems.items():
            coordinator.hear(name, problem)
        asyncio.run(coordinator.run(cluster))
    finally:
        journal.close()
    record = journal.document.jobs[_JOB]
    return {name: problem.code for name, problem in record.problems.items()}, said[-1]


def test_a_job_without_a_target_says_what_is_wrong_with_every_target_of_its_pool(tmp_path: Path):
    problems = {
        "a": TargetProblem(code="no-key-accepted", host="h"),
        "b": TargetProblem(code="unwritable", said="the disk is full"),
    }
    codes, said = lost(tmp_path, problems)
    assert codes == {"a": "no-key-accepted", "b": "unwritable"}
    assert "a: h accepts no key of yours; b: its files cannot be written or read (the disk is full)" in said


def test_a_job_of_many_targets_says_what_is_wrong_with_the_first_of_them(tmp_path: Path):
    codes, _ = lost(tmp_path, {f"a{number:03}": TargetProblem(code="unwritable") for number in range(100)})
    assert list(codes) == [f"a{number:03}" for number in range(MOST_TARGETS)]


class Nobody:
    """A cluster without workers."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()

    async def members(self) -> dict[str, Member]:
        return {}


RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def plain(**changes: Any) -> bytes:
    """Return an outcome of the job as MessagePack that no type has checked."""
    table = {"table": TABLE.id, **changes.pop("of_table", {})}
    return msgspec.msgpack.encode({"kind": "measured", "tables": [table], **changes})


LIES = {
    "a path for a run": plain(of_table={"run": "../../../etc/passwd"}),
    "a run that it did not send": plain(of_table={"run": RUN}),
    "a table of another job": msgspec.msgpack.encode({"kind": "measured", "tables": [{"table": "other"}]}),
    "no table": msgspec.msgpack.encode({"kind": "measured", "tables": []}),
    "a file that is not of the job": plain(kind="wants-files", wanted=["ab" * 32]),
    "a path for a file": plain(kind="wants-files", wanted=["../../../etc/passwd"]),
    "a text of 100 MB": plain(message="x" * 100_000_000),
    "a number for text": plain(message=1),
    "text for tables": plain(tables="all of them"),
    "lists in lists": plain(tables=[[[["t"]]]]),
    "lists without end": b"\x82\xa4kind\xa8measured\xa1x" + b"\x91" * 1_000_000 + b"\x00",
    "another kind": plain(kind="perfect"),
    "no MessagePack": b"\xc1",
    "nothing": b"",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_target_that_answers_something_else_is_refused_by_name_and_its_job_goes_to_another(
    tmp_path: Path, lie: bytes
):
    document, said = in_pool(tmp_path, {"a": lie, "b": MEASURED})
    assert_refused(document, said)
    assert [path for path in tmp_path.rglob("*") if path.name == RUN] == []


def in_pool(results: Path, answers: Mapping[str, JobOutcome | bytes | Exception]) -> tuple[JournalDocument, list[str]]:
    """Have targets of one pool measure a job, and return what the journal and the lines say."""
    journal = journal_to_write(results, "f", {}, 1, resume=False)
    journal.begin()
    said: list[str] = []
    shipments: Any = Shipments()
    cluster: Any = Cluster(answers, facts())
    pools = dict.fromkeys(answers, "both")
    queue = JobQueue((Job(_JOB, "both", (TABLE,), 1.0),), pools)
    fleet = FleetFile(tuple(Target(name=name, pool="both") for name in pools))
    progress = FleetProgress(Reporter(said.append, lambda _: None), 1)

    async def measured() -> None:
        async with asyncio.timeout(60):
            await Coordinator(fleet, queue, shipments, journal, results, progress).run(cluster)

    try:
        asyncio.run(measured())
    finally:
        journal.close()
    return journal.document, said


def assert_refused(document: JournalDocument, said: list[str]) -> None:
    problem = document.targets["a"].problem
    assert problem is not None
    assert problem.code == "not-asked"
    assert any(line.startswith("a") and "something else" in line for line in said)
    assert document.targets["b"].problem is None
    assert (document.jobs[_JOB].kind, document.jobs[_JOB].target) == ("measured", "b")


def test_a_run_of_something_else_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The archive has a run that claims to be of the table, and says itself that it is of another plan."""
    stored: list[object] = []

    def bring_in(_: object, root: Path, check: Any) -> None:
        check([tmp_path / RUN])
        stored.append(root)

    monkeypatch.setattr(coordinator, "bring_in", bring_in)
    document = documents.document(run_id=RUN, file_digests={"a (onnx)": "ab"})
    monkeypatch.setattr(coordinator, "load_document", lambda _: document)
    lie = JobOutcome(kind="measured", tables=(TableOutcome(TABLE.id, RUN),), archive=b"runs")
    assert_refused(*in_pool(tmp_path / "results", {"a": lie, "b": MEASURED}))
    assert not stored
