"""How irbench fleet behaves with a hundred targets: ``python -m benchmarks.fleet_scale``.

The queue of the package decides in virtual time what targets measure that die and return; then its coordinator has a
hundred scripted targets answer with an archive of a real run, which is imported each time, and its memory is read.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.fleet_simulation import simulate, uniform_jobs
from irbench import __version__
from irbench.api.progress import Reporter
from irbench.features.fleet.cluster import Member
from irbench.features.fleet.coordinator import Coordinator
from irbench.features.fleet.job_queue import JobQueue
from irbench.features.fleet.jobs import Job, Shipments
from irbench.features.fleet.journal import Journal, JournalDocument
from irbench.features.fleet.messages import JobOutcome, JobRequest, TableOutcome, TargetFacts, packed, unpacked
from irbench.features.fleet.on_target import tasks
from irbench.features.fleet.progress import FleetProgress
from irbench.features.fleet.targets import FleetFile, Target
from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.features.plan.table_options import SweepSetup
from irbench.measure.clock import utc_now

_ARCHIVE = Path(__file__).parents[1] / "results" / "reference" / "runs" / "autoencoder_ad.tar.gz"
_TARGETS = 100
_SEED = 1


class _ScriptedCluster:
    """Stands for a cluster whose targets measure at once."""

    def __init__(self, names: list[str]) -> None:
        self._members = {f"tls://{name}": Member(name, f"tls://{name}", measures=True) for name in names}
        self._archive = _ARCHIVE.read_bytes()

    async def members(self) -> Mapping[str, Member]:
        return self._members

    async def call(self, member: Member, function: Callable[..., Any], *args: Any, measures: bool = False) -> Any:  # noqa: ARG002
        await asyncio.sleep(0)
        if function is tasks.describe:
            return packed(_facts(member.name))
        if function is tasks.missing_files:
            return []
        if function is tasks.clear:
            return True
        request = unpacked(args[0], JobRequest, "The benchmark")
        tables = tuple(TableOutcome(table.id, "01KAAAAAAAAAAAAAAAAAAAAAAA") for table in request.tables)
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


def _makespans() -> Iterator[str]:
    """Yield a row of the table for each number of targets and rate of deaths."""
    for targets in (4, 20, _TARGETS):
        for death_rate in (0.0, 0.02, 0.1):
            found = simulate(uniform_jobs(20 * targets, _SEED), targets, death_rate, _SEED)
            twice = len(found.measured) - len(set(found.measured))
            lost = 20 * targets - len(set(found.measured)) - len(found.given_up)
            ratio = found.makespan_s / found.bound_s
            yield f"| {targets} | {20 * targets} | {found.deaths} | {ratio:.3f} | {lost} | {twice} |"


async def _coordinated(folder: Path, jobs_each: int) -> int:
    """Return how many jobs a real coordinator has taken in."""
    names = [f"target-{number}" for number in range(_TARGETS)]
    tables = [SweepTable((SweepCell({"batch": number + 1}),), ()) for number in range(jobs_each)]
    jobs = [Job(f"{name}-{table.id}", name, (table,), 1.0) for name in names for table in tables]
    document = JournalDocument(
        name="scale", fleet="", created="", irbench_version=__version__, plan={}, planned=jobs_each
    )
    journal = Journal(folder, document)
    journal.begin()
    fleet = FleetFile(tuple(Target(name=name) for name in names))
    shipments = Shipments((), SweepSetup("scale", folder, folder), lambda _text: None)
    progress = FleetProgress(Reporter(lambda _text: None, lambda _progress: None), len(jobs))
    queue = JobQueue(jobs, {name: name for name in names})
    await Coordinator(fleet, queue, shipments, journal, folder, progress).run(_ScriptedCluster(names))  # type: ignore[arg-type]
    return len(journal.document.jobs)


def main() -> None:
    """Print both tables."""
    sys.stdout.write(
        "| targets | jobs | deaths | makespan / bound | lost | measured twice |\n|---|---|---|---|---|---|\n"
    )
    for row in _makespans():
        sys.stdout.write(f"{row}\n")
    with tempfile.TemporaryDirectory() as folder:
        done = asyncio.run(_coordinated(Path(folder), jobs_each=2))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    sys.stdout.write(f"\n{done} jobs of {_TARGETS} targets taken in; peak memory of the coordinator {peak_mb:.0f} MB\n")


if __name__ == "__main__":
    main()
