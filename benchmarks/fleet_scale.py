"""How irbench fleet behaves with many targets: ``python -m benchmarks.fleet_scale``.

The coordinator of the package has a hundred scripted targets answer with an archive of a real run, which is imported
each time, and its memory is read. The queue decides in virtual time what targets measure that die and return; for the
largest fleet, each event is told and written to the journal as the coordinator does it.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.fleet_simulation import POOL, Witness, simulate, uniform_jobs
from irbench import __version__
from irbench.api.progress import Reporter
from irbench.features.fleet import coordinator
from irbench.features.fleet.coordinator import Coordinator
from irbench.features.fleet.dask_process import Member
from irbench.features.fleet.job_queue import JobQueue
from irbench.features.fleet.jobs import Job, Shipments
from irbench.features.fleet.journal import JobRecord, Journal, JournalDocument, read_journal
from irbench.features.fleet.messages import JobOutcome, JobRequest, TableOutcome, TargetFacts, packed, unpacked
from irbench.features.fleet.progress import FleetProgress
from irbench.features.fleet.targets import FleetFile, Target
from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.features.plan.table_options import SweepSetup
from irbench.measure.clock import Stopwatch, utc_now

_ARCHIVE = Path(__file__).parents[1] / "results" / "reference" / "runs" / "autoencoder_ad.tar.gz"
_TARGETS = 100
_SEED = 1
_FLEETS = ((4, 80), (20, 400), (_TARGETS, 20 * _TARGETS), (2, 200), (8, 200), (32, 200))
_LARGEST = (1000, 100_000)
_DEATH_RATES = (0.0, 0.02, 0.1)
_RUN = "01KAAAAAAAAAAAAAAAAAAAAAAA"


class _ScriptedCluster:
    """Stands for a cluster whose targets measure at once."""

    def __init__(self, names: list[str]) -> None:
        self.changed = asyncio.Event()
        self._members = {name: Member(name, f"tls://{name}", measures=True) for name in names}
        self._archive = _ARCHIVE.read_bytes()

    async def members(self) -> Mapping[str, Member]:
        return self._members

    async def call(self, member: Member, task: str, *args: Any, **_: Any) -> bytes:
        await asyncio.sleep(0)
        if task == "describe":
            return packed(_facts(member.name))
        if task == "clear":
            return b""
        request = unpacked(args[0], JobRequest, "The benchmark")
        tables = tuple(TableOutcome(table.id, _RUN) for table in request.tables)
        return packed(JobOutcome(kind="measured", tables=tables, archive=self._archive))


def _facts(name: str) -> TargetFacts:
    from importlib import metadata

    versions = {item.name: item.version for item in metadata.distributions()}
    return TargetFacts(
        irbench_version=__version__,
        python="",
        machine=name,
        processor="",
        processors=1,
        memory_bytes=1,
        distributions=versions,
        utc=utc_now().isoformat(),
    )


class _Recorded(Witness):
    """Tells and writes down each event as the coordinator does."""

    def __init__(self, journal: Journal, progress: FleetProgress) -> None:
        self._journal = journal
        self._progress = progress
        self._facts = _facts("target")

    def joined(self, name: str) -> None:
        self._journal.see(name, pool=POOL, machine=name, processor=self._facts.processor, clock_ahead_s=0.0)
        self._progress.ready(name, self._facts, 0.0)

    def left(self, name: str) -> None:
        self._progress.left(name, with_job=True)

    def begun(self, name: str, job: Job) -> None:
        self._progress.begun(name, job)
        self._journal.begin_job(job.id, name)

    def ended(self, name: str, job: Job) -> None:
        tables = tuple(TableOutcome(table.id, _RUN) for table in job.tables)
        labels = tuple(table.label for table in job.tables)
        record = JobRecord(job=job.id, pool=job.pool, kind="measured", target=name, labels=labels, tables=tables)
        self._journal.add(record)
        self._progress.ended(name, job, record)


def _makespans() -> Iterator[str]:
    """Yield a row of the table for each number of targets and rate of deaths."""
    for targets, jobs in (*_FLEETS, _LARGEST):
        for death_rate in _DEATH_RATES:
            found = simulate(uniform_jobs(jobs, _SEED), targets, death_rate, _SEED)
            twice = len(found.measured) - len(set(found.measured))
            lost = jobs - len(set(found.measured)) - len(found.given_up)
            ratio = found.makespan_s / found.bound_s
            yield f"| {targets} | {jobs} | {found.deaths} | {ratio:.3f} | {lost} | {twice} |"


def _recorded(folder: Path, targets: int, count: int) -> str:
    """Return what the events of a fleet whose targets come and go take, with all that a coordinator does of them."""
    jobs = [
        replace(job, tables=(SweepTable((SweepCell({"models": "resnet50", "batch": number}),), ()),))
        for number, job in enumerate(uniform_jobs(count, _SEED))
    ]
    journal = _journal(folder, count)
    progress = FleetProgress(Reporter(lambda _text: None, lambda _progress: None), count)
    watch = Stopwatch()
    found = simulate(jobs, targets, _DEATH_RATES[-1], _SEED, _Recorded(journal, progress))
    event_ms, peak_mb = watch.elapsed_s / found.events * 1e3, _peak_mb()
    journal.close()
    size_mb = sum(path.stat().st_size for path in journal.folder.iterdir()) / 1e6
    watch = Stopwatch()
    known = read_journal(folder, "scale")
    read_s = watch.elapsed_s
    assert known is not None
    assert len(known.jobs) + len(found.given_up) == count
    return (
        f"{count} jobs of {targets} targets, {found.deaths} deaths: {found.events} events, {event_ms:.2f} ms each; "
        f"{size_mb:.0f} MB of journal, read in {read_s:.1f} s; peak memory {peak_mb:.0f} MB"
    )


def _journal(folder: Path, planned: int) -> Journal:
    document = JournalDocument(
        name="scale", fleet="", created="", irbench_version=__version__, plan={}, planned=planned
    )
    journal = Journal(folder, document)
    journal.begin()
    return journal


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


async def _coordinated(folder: Path, jobs_each: int) -> int:
    """Return how many jobs a real coordinator has taken in."""
    names = [f"target-{number}" for number in range(_TARGETS)]
    tables = [SweepTable((SweepCell({"batch": number + 1}),), ()) for number in range(jobs_each)]
    jobs = [Job(f"{name}-{table.id}", name, (table,), 1.0) for name in names for table in tables]
    journal = _journal(folder, jobs_each)
    fleet = FleetFile(tuple(Target(name=name) for name in names))
    shipments = Shipments((), SweepSetup("scale", folder, folder), lambda _text: None)
    progress = FleetProgress(Reporter(lambda _text: None, lambda _progress: None), len(jobs))
    queue = JobQueue(jobs, {name: name for name in names})
    with mock.patch.object(coordinator, "require_asked"):  # all of them answer with one run, of another plan
        await Coordinator(fleet, queue, shipments, journal, folder, progress).run(_ScriptedCluster(names))  # type: ignore[arg-type]
    return len(journal.document.jobs)


def main() -> None:
    """Print what a coordinator takes, the table, and what the largest fleet takes."""
    with tempfile.TemporaryDirectory() as folder:
        done = asyncio.run(_coordinated(Path(folder), jobs_each=2))
    sys.stdout.write(
        f"{done} jobs of {_TARGETS} targets taken in; peak memory of the coordinator {_peak_mb():.0f} MB\n\n"
    )
    sys.stdout.write(
        "| targets | jobs | deaths | makespan / bound | lost | measured twice |\n|---|---|---|---|---|---|\n"
    )
    for row in _makespans():
        sys.stdout.write(f"{row}\n")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:  # whose disk takes no time
        sys.stdout.write(f"\n{_recorded(Path(folder), *_LARGEST)}\n")


if __name__ == "__main__":
    main()
