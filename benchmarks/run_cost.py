"""How long ``irbench run`` takes beyond what it must do, and how soon it knows a speedup to one per cent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.rows import Finding, Goal
from benchmarks.workbench import Workbench
from irbench.measure.clock import utc_now
from irbench.record import CellLaunch, LaunchRecord
from irbench.result import GroupResult, RunDocument
from irbench.stats.rederive import rederive
from irbench.store import Store

__all__ = ["Run", "first_within", "launch_ns", "measure", "timed_ns"]

_BACKENDS = "ort,openvino"
_TARGET = 0.01
_AFTER_START = ("load", "compile", "first_inference", "warm_up")


@dataclass(frozen=True)
class Run:
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
        """The run's only table."""
        return self.document.groups[0]


def measure(bench: Workbench) -> Iterator[Finding]:
    """Run the command; the export that precedes a first run is not in its time."""
    bench.irbench("export", "resnet50")
    runs = [_run(bench, number) for number in range(bench.repeats(2))]
    what = f"irbench run resnet50 --backends {_BACKENDS}"
    needed = tuple(sum(map(launch_ns, one.launches)) / 1e9 + sum(map(timed_ns, one.launches)) / 1e9 for one in runs)
    walls = tuple(one.seconds for one in runs)
    remark = "; ".join(_parts(one) for one in runs)
    yield Finding("run", what, "s", walls, needed, "launch cost and timed time", Goal("ratio", "<=", 1.3), remark)
    yield _time_to_target(runs)


def launch_ns(record: LaunchRecord) -> int:
    """Return what it cost to bring a launch's workers to their first round.

    That is, from each worker's own phases: starting the interpreter and importing the runtime, then loading,
    compiling, the first inference and the warm-up. The workers of a group's first launch start and import one after
    the other, so these durations add up. In later launches a worker starts while those before it import, so there it
    counts when the last of them was ready. Compiling and warming up is always one after the other. Verifying
    outputs, freezing, and what passes between the workers' phases are *not* in it.
    """
    starts = [cell.phases_ns.get("start", 0) for cell in record.cells]
    imports = [cell.phases_ns.get("import", 0) for cell in record.cells]
    if record.launch == 0:
        begun = sum(starts) + sum(imports)
    else:
        begun = max((at + own for at, own in zip(itertools.accumulate(starts), imports, strict=True)), default=0)
    return begun + sum(cell.phases_ns.get(phase, 0) for cell in record.cells for phase in _AFTER_START)


def timed_ns(record: LaunchRecord) -> int:
    """Return how long a launch's cells were running for a figure: rounds and the uninterrupted runs.

    A round lasts from its settling calls to its draining (``Evidence.wall_ns``); blocks that were set aside count,
    because they were measured. An uninterrupted run is its timed window alone.
    """
    return _rounds_ns(record.cells) + sum(one.wall_ns for one in record.sustained)


def first_within(tables: Sequence[GroupResult], target: float) -> int | None:
    """Return the first of some tables in which every speedup is known to ``target``, counted from 0; ``None`` if none.

    A speedup is known to 1 % where it is no preview and half the width of its interval, in logarithms, is at
    most 0.01.
    """
    for index, table in enumerate(tables):
        found = [row.speedup for row in table.cells if row.speedup is not None]
        if found and all(one.verdict != "preview" and math.log(one.high / one.low) / 2 <= target for one in found):
            return index
    return None


def _rounds_ns(cells: Sequence[CellLaunch]) -> int:
    return sum(one.evidence.wall_ns for cell in cells for one in cell.rounds)


def _run(bench: Workbench, number: int) -> Run:
    root = bench.scratch / f"runs-{number}"
    began = utc_now()
    quick = ("--quick",) if bench.quick else ()
    done = bench.irbench("run", "resnet50", "--backends", _BACKENDS, "--results", root, *quick)
    store = Store(root)
    folder = store.find("latest")
    document = store.load(folder)
    ended = tuple(_seconds_after(began, folder / name) for name in sorted(document.launches))
    return Run(done.seconds, document, tuple(store.launches(folder)), ended)


def _seconds_after(began: datetime, path: Path) -> float:
    return path.stat().st_mtime - began.timestamp()


def _parts(run: Run) -> str:
    launching = sum(map(launch_ns, run.launches)) / 1e9
    timed = sum(map(timed_ns, run.launches)) / 1e9
    table = run.table
    return (
        f"{table.launches} launches {launching:.0f} s, timed {timed:.0f} s, "
        f"before and after the launches {run.seconds - table.seconds:.0f} s, stopped by {table.stopped_by}"
    )


def _time_to_target(runs: Sequence[Run]) -> Finding:
    """Return when a run's interval first was narrow enough, by the same statistics over its first launches.

    Where only the last launch made it so, that is when the process ended. Where some run never got there, there is no
    figure: the median of those that did would be too good.
    """
    reached: list[float] = []
    for run in runs:
        counts = range(1, len(run.launches) + 1)
        tables = [rederive(run.document, run.launches[:count]).groups[0] for count in counts]
        index = first_within(tables, _TARGET)
        if index is not None:
            reached.append(run.seconds if index == len(tables) - 1 else run.launch_ended_s[index])
    said = f" after {', '.join(f'{one:.0f} s' for one in reached)}" if reached else ""
    remark = f"{len(reached)} of {len(runs)} runs reached it{said}"
    known = tuple(reached) if len(reached) == len(runs) else ()
    return Finding("run", "time until the speedup is known to ±1 %", "s", known, remark=remark)
