"""Having the targets of a cluster measure jobs: what comes and goes is taken in, the rest follows from the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from irbench import __version__
from irbench.errors import IrbenchError, one_line
from irbench.features.fleet.answers import require_asked
from irbench.features.fleet.cluster import LARGEST_ANSWER_BYTES, CallFailed, Cluster, SchedulerLost, TargetLost
from irbench.features.fleet.dask_process import Member
from irbench.features.fleet.job_queue import Assignment, JobQueue
from irbench.features.fleet.jobs import Job, Shipments
from irbench.features.fleet.journal import JobRecord, Journal, TargetRecord, Unwritable
from irbench.features.fleet.messages import JobOutcome, JobRequest, NotAsked, TargetFacts, packed, unpacked
from irbench.features.fleet.problems import TargetProblem, problem_of_target
from irbench.features.fleet.progress import MOST_TARGETS, FleetProgress
from irbench.features.fleet.targets import FleetFile
from irbench.features.results.run import bring_in
from irbench.measure.clock import Stopwatch, utc_now
from irbench.store.runs import load_document
from irbench.system.file_access import require_room
from irbench.system.locks import temporary_folder

_LOOK_S = 1.0
_LOST_S = 30.0
"""After which a worker that was lost, and is there all the same, is given something to measure again."""
_BUSY_S = 30.0
_PIECE_BYTES = 1 << 25
_ROOM_FACTOR = 10
"""So much larger than its archive is a run while it is taken in, at most."""


@dataclass
class Coordinator:
    """Has targets measure what a queue holds.

    Args:
        fleet: What was asked of the targets.
        queue: The jobs that are left.
        shipments: The files that they need.
        journal: Where their ends are kept.
        results: The folder of runs.
        progress: Receives what happens.
    """

    fleet: FleetFile
    queue: JobQueue
    shipments: Shipments
    journal: Journal
    results: Path
    progress: FleetProgress
    _absent: dict[str, TargetProblem] = field(default_factory=dict)
    """Why targets are not there, by name."""

    def __post_init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._facts: dict[str, TargetFacts] = {}
        self._seen: Mapping[str, Member] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._taking: dict[str, asyncio.Task[bool]] = {}
        self._failure: BaseException | None = None
        self._watch = Stopwatch()
        self._importing = asyncio.Lock()
        self._said_gone = 0
        self._last_words: dict[str, str] = {}
        self._wake = asyncio.Event()

    async def run(self, cluster: Cluster) -> None:
        """Measure until nothing is left, or nobody is left to measure it.

        Raises:
            IrbenchError: The scheduler is gone, or a disk of this machine is full.
        """
        self._wake = cluster.changed
        try:
            while self._failure is None:
                await self._see(cluster)
                for assignment in self.queue.assignments(self._watch.elapsed_s):
                    self._begin(cluster, assignment)
                self._record_gone()
                if self.queue.is_over and not self._tasks:
                    self._record_absent()
                    return
                with suppress(TimeoutError):  # the patience with a target ends without any event
                    async with asyncio.timeout(_LOOK_S):
                        await self._wake.wait()
                self._wake.clear()
            raise self._failure
        finally:
            tasks = tuple(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have a target admitted, or measure, when what it did before is over."""
        before = self._tasks.get(name)

        async def begun() -> None:
            if before is not None:
                await asyncio.wait((before,))
            await work()

        task = self._tasks[name] = asyncio.create_task(begun())
        task.add_done_callback(partial(self._take_end, name))

    def _take_end(self, name: str, task: asyncio.Task[Any]) -> None:
        for running in (self._tasks, self._taking):
            if running.get(name) is task:
                del running[name]
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
        self._wake.set()

    def hear(self, name: str, problem: TargetProblem) -> None:
        """Take in why a target is not there; it is not tried again where its problem lasts."""
        self._absent[name] = problem
        if problem.lasts:
            self._refuse(name, problem)
        else:
            self.progress.not_there(name, problem)

    def _refuse(self, name: str, problem: TargetProblem) -> None:
        self.progress.not_there(name, problem)
        self.queue.refused(name)
        self._see_target(name, problem=problem)
        self._wake.set()

    async def _see(self, cluster: Cluster) -> None:
        """Take in which targets came and went."""
        members = await cluster.members()
        if members is self._seen:
            return
        self._seen = members
        for name, known in tuple(self._members.items()):
            if members.get(name) != known:
                del self._members[name]
                self._leave(name)
        for name, member in members.items():
            if name in self.queue.pools and name not in self._members:
                self._members[name] = member
                self._start(name, partial(self._admit, cluster, member))

    def _leave(self, name: str) -> None:
        if (task := self._tasks.pop(name, None)) is not None:
            task.cancel()
        if name in self._taking:  # its answer is here: otherwise another would measure what is being stored
            self._taking[name].add_done_callback(lambda _: self._lose(name))
        else:
            self._lose(name)

    def _lose(self, name: str) -> None:
        if self.queue.is_here(name) and name not in self._members:
            self.progress.left(name, with_job=self.queue.job_of(name) is not None)
            self.queue.left(name, self._watch.elapsed_s)
        self._wake.set()

    async def _admit(self, cluster: Cluster, member: Member) -> None:
        """Ask a target what it is, and let it measure or not."""
        try:
            facts = unpacked(await cluster.call(member, "describe"), TargetFacts, member.name)
        except TargetLost:
            return
        except (CallFailed, IrbenchError) as error:
            self._refuse(member.name, await problem_of_answer(cluster, member, error))
            return
        others = {known.machine: name for name, known in self._facts.items() if name != member.name}
        problem = problem_of_target(facts, self.fleet, others, measures=member.measures)
        if problem is not None:
            self._refuse(member.name, problem)
            return
        self._absent.pop(member.name, None)
        self._facts[member.name] = facts
        ahead_s = clock_ahead_s(facts)
        self._see_target(
            member.name,
            machine=facts.machine,
            processor=one_line(facts.processor),
            processors=facts.processors,
            clock_ahead_s=ahead_s,
        )
        self.progress.ready(member.name, facts, ahead_s)
        self.queue.joined(member.name)

    def _see_target(self, name: str, *, problem: TargetProblem | None = None, **facts: object) -> None:
        prices = {target.name: target.price_per_hour for target in self.fleet.targets}
        pool, price = self.queue.pools[name], prices.get(name)
        self.journal.see(name, pool=pool, price_per_hour=price, problem=problem, **facts)

    def _record_absent(self) -> None:
        """Record why targets were never there in this call."""
        for name, problem in self._absent.items():
            if name not in self._facts:
                self._see_target(name, problem=problem)

    def _begin(self, cluster: Cluster, assignment: Assignment) -> None:
        self.progress.begun(assignment.target, assignment.job)
        self.journal.begin_job(assignment.job.id, assignment.target)
        member = self._members[assignment.target]
        self._start(assignment.target, partial(self._measure, cluster, member, assignment.job))

    async def _measure(self, cluster: Cluster, member: Member, job: Job) -> None:
        name, request = member.name, None
        try:
            request = self.shipments.request(job, self.journal.document.name)
            outcome = await self._asked(cluster, member, request)
            if outcome.kind == "wants-files":
                failure = await self._send(cluster, member, request, outcome.wanted)
                outcome = failure or await self._asked(cluster, member, request)
        except TargetLost:
            await asyncio.sleep(_LOST_S)  # which is cancelled when the cluster has noticed it, too
            outcome = JobOutcome(kind="died", message="its worker was lost")
        except CallFailed as error:
            self._refuse(name, await problem_of_answer(cluster, member, error))
            return
        except NotAsked as error:
            self._refuse(name, TargetProblem(code="not-asked", said=error.reason))
            return
        except SchedulerLost:
            raise
        except IrbenchError as error:  # of the files here
            outcome = JobOutcome(kind="refused", message=error.message, hint=error.hint)
        taking = self._taking[name] = asyncio.create_task(self._take(name, job, request, outcome))
        taking.add_done_callback(partial(self._take_end, name))
        if await asyncio.shield(taking):  # also where its target leaves: another would measure the job again
            with suppress(TargetLost, CallFailed):  # one that is not there any more keeps what it has of the job
                await cluster.call(member, "clear", job.id)

    async def _asked(self, cluster: Cluster, member: Member, request: JobRequest) -> JobOutcome:
        answer = await cluster.call(member, "measure", packed(request), measures=True, most_bytes=LARGEST_ANSWER_BYTES)
        return unpacked(answer, JobOutcome, member.name)

    async def _send(
        self, cluster: Cluster, member: Member, request: JobRequest, wanted: Sequence[str]
    ) -> JobOutcome | None:
        """Send the files that a target lacks, and return what comes of the job where that failed."""
        files = {file.sha256: file for file in request.files}
        for sha256 in dict.fromkeys(wanted):
            if (file := files.get(sha256)) is None:
                raise NotAsked(member.name, "it wants a file that is not of the job")
            self.progress.sent(member.name, file)
            with self.shipments.source(sha256).open("rb") as content:
                for offset in range(0, max(file.size_bytes, 1), _PIECE_BYTES):
                    piece = content.read(_PIECE_BYTES)
                    answer = await cluster.call(member, "take_piece", packed(file), request.job, offset, piece)
                    if answer != b"":
                        return unpacked(answer, JobOutcome, member.name)
        return None

    async def _take(self, name: str, job: Job, request: JobRequest | None, outcome: JobOutcome) -> bool:
        """Store the runs of an outcome if they are what the job asks for, record it, and return whether it is done."""
        facts, models = self._facts[name], self.shipments.models(job)

        def check(folders: Sequence[Path]) -> None:
            if request is not None:
                documents = {document.run_id: document for document in map(load_document, folders)}
                require_asked(name, job, request, outcome, documents, models, facts)

        try:
            if outcome.archive:
                async with self._importing:
                    await asyncio.to_thread(self._import, name, outcome.archive, check)
            else:
                check(())
        except NotAsked as error:
            self._refuse(name, TargetProblem(code="not-asked", said=error.reason))
            return False
        except OSError as error:
            raise Unwritable(self.results, error) from error
        return self._end(name, job, outcome)

    def _import(self, name: str, archive: bytes, check: Callable[[Sequence[Path]], None]) -> None:
        self.results.mkdir(parents=True, exist_ok=True)
        with temporary_folder(self.results, ".fleet-") as folder:
            path = folder / "runs.tar.gz"
            path.write_bytes(archive)
            try:
                bring_in((path,), self.results, check)
            except NotAsked:
                raise
            except IrbenchError as error:
                require_room(folder, _ROOM_FACTOR * len(archive))
                raise NotAsked(name, error.message) from error

    def _end(self, name: str, job: Job, outcome: JobOutcome) -> bool:
        """Record what came of a job, and return whether it is done."""
        message, hint = one_line(outcome.message), one_line(outcome.hint)
        self._last_words[job.id] = message
        if outcome.kind == "busy":
            self.progress.busy(name, message, _BUSY_S)
            self.queue.busy(name, self._watch.elapsed_s + _BUSY_S)
            return False
        if outcome.kind in ("died", "wants-files"):
            self.progress.died(name, message or "it lacks files that it was sent")
            self.queue.died(name)
            return False
        if outcome.kind == "unwritable":
            self._refuse(name, TargetProblem(code="unwritable", said=message))
            return False
        tables = tuple(
            msgspec.structs.replace(table, message=one_line(table.message), hint=one_line(table.hint))
            for table in outcome.tables
        )
        record = JobRecord(
            job=job.id,
            pool=job.pool,
            kind="measured" if outcome.kind == "measured" else "refused",
            target=name,
            labels=tuple(table.label for table in job.tables),
            tables=tables,
            message=message,
            hint=hint,
        )
        self.journal.add(record)
        self.queue.finished(name)
        self.progress.ended(name, job, record)
        return record.is_done

    def _record_gone(self) -> None:
        """Record what is not tried again, and why: of each pool whose targets are gone, what is known of the first."""
        gone = self.queue.gone[self._said_gone :]
        if not gone:
            return
        self._said_gone += len(gone)
        problems: dict[str, dict[str, TargetProblem]] = {}
        for pool in {each.job.pool for each in gone if each.reason == "no-target"}:
            seen = self.journal.document.targets
            known = ((name, self._absent.get(name) or seen.get(name)) for name in self.queue.targets_of(pool))
            found = ((name, each.problem if isinstance(each, TargetRecord) else each) for name, each in known)
            problems[pool] = dict(islice(((name, problem) for name, problem in found if problem), MOST_TARGETS))
        records = [
            JobRecord(
                job=each.job.id,
                pool=each.job.pool,
                kind=each.reason,
                labels=tuple(table.label for table in each.job.tables),
                message=self._last_words.get(each.job.id, "") if each.reason == "deaths" else "",
                problems=problems.get(each.job.pool, {}) if each.reason == "no-target" else {},
            )
            for each in gone
        ]
        self.journal.add(*records)
        for each, record in zip(gone, records, strict=True):
            self.progress.ended("", each.job, record)


def clock_ahead_s(facts: TargetFacts) -> float | None:
    """Return by how much the clock of a target is ahead of this machine's; ``None`` where it says no time."""
    try:
        return (datetime.fromisoformat(facts.utc) - utc_now()).total_seconds()
    except (ValueError, TypeError):
        return None


async def problem_of_answer(cluster: Cluster, member: Member, error: Exception) -> TargetProblem:
    """Return why a target answers otherwise than this irbench: by its version, which any irbench can be asked for.

    Raises:
        SchedulerLost: That is why it does not answer.
    """
    if isinstance(error, SchedulerLost):
        raise error
    try:
        there = one_line((await cluster.call(member, "version")).decode(errors="replace"))
    except (CallFailed, TargetLost):
        there = ""
    if there in ("", __version__):
        return TargetProblem(code="answers-otherwise")
    return TargetProblem(code="irbench-version", there=there, needed=__version__)
