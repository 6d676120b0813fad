"""Runs of irbench whose raw records are read back from the store."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.workbench import Workbench
from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult, RunDocument
from irbench.measure.clock import utc_now
from irbench.spec import BATCH, Bundle, Group, Timing, Workload
from irbench.stats.observed import Observed, observe
from irbench.stats.rederive import planned_timing
from irbench.store.runs import Store


@dataclass(frozen=True)
class StoredRun:
    """One run of the command, and what it stored.

    Attributes:
        seconds: Wall time of the whole process.
        document: Its document.
        launches: Its raw records.
        launch_ended_s: When each launch was on the disk, in seconds from the start of the process.
    """

    seconds: float
    document: RunDocument
    launches: tuple[LaunchRecord, ...]
    launch_ended_s: tuple[float, ...]

    @property
    def table(self) -> GroupResult:
        """The run's first table; most have no other."""
        return self.document.groups[0]

    @property
    def timing(self) -> Timing:
        """The protocol's numbers that it ran by."""
        return planned_timing(self.document.plan)

    @property
    def observed(self) -> tuple[Observed, ...]:
        """Each launch of the first table, reduced; its cells have no streams."""
        workload = Workload(Bundle(self.table.model, (), ()), {BATCH: self.table.batch})
        group = Group((workload,), (), self.table.baseline or "")
        return observe(group, self.launches, self.timing)


def run_stored(bench: Workbench, program: Sequence[str], *arguments: object, **how: Any) -> StoredRun:
    """Run ``irbench run`` and return what it stored, in a folder of its own.

    Args:
        bench: Where it runs.
        program: irbench, or what stands in for it: ``("python", "-m", "benchmarks.by_hand")``.
        arguments: Of ``run``.
        how: See :meth:`benchmarks.workbench.Workbench.run`.

    Raises:
        CommandFailed: It ended with an error.
        IrbenchError: What it stored cannot be read.
    """
    root = Path(tempfile.mkdtemp(prefix="results-", dir=bench.scratch))
    began = utc_now()
    done = bench.run(*program, "run", *arguments, "--results", root, **how)
    store = Store(root)
    folder = store.find("latest")
    document = store.load(folder)
    ended = tuple(_seconds_after(began, folder / name) for name in sorted(document.launches))
    return StoredRun(done.seconds, document, tuple(store.launches(folder)), ended)


def _seconds_after(began: datetime, path: Path) -> float:
    return path.stat().st_mtime - began.timestamp()
