"""Having the targets of a cluster measure jobs: what comes and goes is taken in, the rest follows from the queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from irbench.errors import IrbenchError, one_line
from irbench.features.fleet import worker_tasks
from irbench.features.fleet.admission import problem_of_target
from irbench.features.fleet.cluster import CallFailed, Cluster, Member, SchedulerLost, TargetLost
from irbench.features.fleet.job_queue import Assignment, Gone, JobQueue
from irbench.features.fleet.jobs import Job, Shipments
from irbench.features.fleet.journal import JobRecord, Journal, TargetRecord
from irbench.features.fleet.messages import JobOutcome, JobRequest, SentFile, TargetFacts, packed, unpacked
from irbench.features.fleet.progress import FleetProgress
from irbench.features.fleet.targets import FleetFile
from irbench.features.results.run import bring_in
from irbench.measure.clock import Stopwatch
from irbench.system.locks import temporary_folder

_LOOK_S = 1.0
_BUSY_S = 30.0
_PIECE_BYTES = 1 << 22

_LOST_TEXT = "the target is not there any more; its job is tried again"


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
    unreachable: dict[str, str] = field(default_factory=dict)
    """Why targets are not there, by name."""

    def __post_init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._machines: dict[str, str] = {}
        self._work: dict[str, asyncio.Task[None]] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._clearing: dict[str, asyncio.Task[None]] = {}
        self._watch = Stopwatch()
        self._importing = asyncio.Lock()
        self._said_gone = 0
        self._wake = asyncio.Event()

    async def run(self, cluster: Cluster) -> None:
        """Measure until nothing is left, or nobody is left to measure it.

        Raises:
            IrbenchError: The scheduler is gone, or a disk of this machine is full.
        """
        logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)  # tells what is told here
        try:
            while True:
                await self._see(cluster)
                for assignment in self.queue.assignments(self._watch.elapsed_s):
                    self._begin(cluster, assignment)
                self._record_gone()
                if self.queue.is_over and not (self._work or self._clearing):
                    return
                await self._something()
                self._raise_problems()
        finally:
            for task in self._tasks():
                task.cancel()
            await asyncio.gather(*self._tasks(), return_exceptions=True)

    async def _something(self) -> None:
        """Wait until something happened, but not for long: the cluster tells nothing by itself."""
        woken = asyncio.create_task(self._wake.wait())
        await asyncio.wait((*self._tasks(), woken), timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        self._wake.clear()

    def refuse(self, name: str, problem: str) -> None:
        """Take in that a target may not measure, and why."""
        self.progress.say(f"{name}: {problem}")
        self.queue.refused(name)
        self._see_target(name, problem=problem)
        self._wake.set()

    def notice(self, text: str) -> None:
        """Take in a line about a target."""
        self.progress.say(text)

    @property
    def _kinds(self) -> tuple[dict[str, asyncio.Task[None]], ...]:
        return (self._work, self._looking, self._clearing)

    def _tasks(self) -> tuple[asyncio.Task[None], ...]:
        return tuple(task for tasks in self._kinds for task in tasks.values())

    def _raise_problems(self) -> None:
        for tasks in self._kinds:
            for name, task in tuple(tasks.items()):
                if task.done():
                    del tasks[name]
                    task.result()

    async def _see(self, cluster: Cluster) -> None:
        """Take in which targets came and went."""
        members = {member.name: member for member in (await cluster.members()).values()}
        for name, known in tuple(self._members.items()):
            if members.get(name) != known:
                del self._members[name]
                self._leave(name)
        for name, member in members.items():
            if name in self.queue.pools and name not in self._members:
                self._members[name] = member
                self._looking[name] = asyncio.create_task(self._admit(cluster, member))

    def _leave(self, name: str) -> None:
        for tasks in self._kinds:
            if (task := tasks.pop(name, None)) is not None:
                task.cancel()
        if self.queue.is_here(name):
            self.progress.say(f"{name}: {_LOST_TEXT}" if self.queue.job_of(name) else f"{name}: left")
            self.queue.left(name, self._watch.elapsed_s)

    async def _admit(self, cluster: Cluster, member: Member) -> None:
        """Ask a target what it is, and let it measure or not."""
        try:
            facts = unpacked(await cluster.call(member, worker_tasks.describe), TargetFacts, member.name)
        except SchedulerLost:
            raise
        except TargetLost:
            return
        except (CallFailed, IrbenchError):
            self.refuse(member.name, "it does not answer as this irbench does: install the same version there")
            return
        others = {machine: name for name, machine in self._machines.items() if name != member.name}
        problem = problem_of_target(facts, member, self.fleet, others)
        if problem:
            self.refuse(member.name, problem)
            return
        self._machines[member.name] = facts.machine
        self._see_target(member.name, facts)
        self.progress.say(f"{member.name}: ready ({facts.processor}, {facts.processors} processors)")
        self.queue.joined(member.name)

    def _see_target(self, name: str, facts: TargetFacts | None = None, problem: str = "") -> None:
        prices = {target.name: target.price_per_hour for target in self.fleet.targets}
        self.journal.see(
            TargetRecord(
                name=name,
                pool=self.queue.pools[name],
                price_per_hour=prices.get(name),
                machine="" if facts is None else facts.machine,
                processor="" if facts is None else facts.processor,
                processors=0 if facts is None else facts.processors,
                problem=problem,
            )
        )

    def _begin(self, cluster: Cluster, assignment: Assignment) -> None:
        self.progress.begun(assignment.target, assignment.job)
        member = self._members[assignment.target]
        self._work[assignment.target] = asyncio.create_task(self._measure(cluster, member, assignment.job))

    async def _measure(self, cluster: Cluster, member: Member, job: Job) -> None:
        try:
            request = self.shipments.request(job, self.journal.document.name)
            problem = await self._send_files(cluster, member, request)
            if problem:
                outcome = JobOutcome(kind="refused", message=problem)
            else:
                answer = await cluster.call(member, worker_tasks.measure, packed(request), measures=True)
                outcome = unpacked(answer, JobOutcome, member.name)
        except SchedulerLost:
            raise
        except TargetLost:
            return  # which is taken in with the next look at the cluster
        except CallFailed:
            outcome = JobOutcome(kind="refused", message="the target could not begin the job")
        except IrbenchError as error:
            outcome = JobOutcome(kind="refused", message=error.message, hint=error.hint)
        if await self._take(member.name, job, outcome):
            self._clearing[member.name] = asyncio.create_task(self._clear(cluster, member, job))

    async def _clear(self, cluster: Cluster, member: Member, job: Job) -> None:
        """Have a target remove what it kept of a job; one that is not there any more keeps it."""
        with suppress(TargetLost, CallFailed):
            await cluster.call(member, worker_tasks.clear, job.id)

    async def _send_files(self, cluster: Cluster, member: Member, request: JobRequest) -> str:
        """Send what a target lacks, and return why that failed; empty where it did not."""
        missing = await cluster.call(member, worker_tasks.missing_files, packed(request))
        known = {file.sha256: file for file in request.files}
        for sha256 in missing:
            if sha256 not in known:
                return "it asks for a file that is not part of the job"
            problem = await self._send(cluster, member, known[sha256])
            if problem:
                return problem
        return ""

    async def _send(self, cluster: Cluster, member: Member, file: SentFile) -> str:
        self.progress.say(f"{member.name}: {file.place} is sent ({file.size_bytes / 1e6:.1f} MB)")
        with self.shipments.source(file.sha256).open("rb") as content:
            for offset in range(0, max(file.size_bytes, 1), _PIECE_BYTES):
                piece = content.read(_PIECE_BYTES)
                problem: str = await cluster.call(member, worker_tasks.take_piece, packed(file), offset, piece)
                if problem:
                    return one_line(str(problem))
        return ""

    async def _take(self, name: str, job: Job, outcome: JobOutcome) -> bool:
        """Take in what came of a job, and return whether it is done: its runs are stored before the journal says so."""
        if outcome.kind == "busy":
            self.progress.say(f"{name}: {outcome.message} Asked again in {_BUSY_S:.0f} s")
            self.queue.busy(name, self._watch.elapsed_s + _BUSY_S)
            return False
        if outcome.kind == "died":
            self.progress.say(f"{name}: {one_line(outcome.message)}")
            self.queue.died(name)
            return False
        if outcome.archive:
            async with self._importing:
                try:
                    await asyncio.to_thread(self._import, outcome.archive)
                except IrbenchError as error:
                    outcome = JobOutcome(kind="refused", message=error.message, hint=error.hint)
        record = JobRecord(
            job=job.id,
            pool=job.pool,
            kind="measured" if outcome.kind == "measured" else "refused",
            target=name,
            labels=tuple(table.label for table in job.tables),
            tables=outcome.tables,
            message=one_line(outcome.message),
            hint=one_line(outcome.hint),
        )
        self.journal.add(record)
        self.queue.finished(name)
        self.progress.ended(name, job, record)
        return record.is_done

    def _import(self, archive: bytes) -> None:
        self.results.mkdir(parents=True, exist_ok=True)
        with temporary_folder(self.results, ".fleet-") as folder:
            path = folder / "runs.tar.gz"
            path.write_bytes(archive)
            bring_in((path,), self.results)

    def _record_gone(self) -> None:
        for gone in self.queue.gone[self._said_gone :]:
            record = _record_of(gone, self._reasons())
            self.journal.add(record)
            self.progress.ended("", gone.job, record)
        self._said_gone = len(self.queue.gone)

    def _reasons(self) -> Mapping[str, str]:
        """Return what is known of each target that may not measure."""
        known = {name: record.problem for name, record in self.journal.document.targets.items() if record.problem}
        return {**self.unreachable, **known}


def _record_of(gone: Gone, reasons: Mapping[str, str]) -> JobRecord:
    return JobRecord(
        job=gone.job.id,
        pool=gone.job.pool,
        kind=gone.reason,
        labels=tuple(table.label for table in gone.job.tables),
        message=reasons.get(gone.job.pool, "") if gone.reason == "no-target" else "",
    )
