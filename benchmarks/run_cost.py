"""How long ``irbench run`` takes beyond what it must do, and how soon it knows who is faster, and by how much."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from benchmarks.rows import Finding, Goal
from benchmarks.stored import StoredRun, run_stored
from benchmarks.workbench import Workbench, in_turn
from irbench.core.record import CellLaunch, LaunchRecord
from irbench.core.result import GroupResult
from irbench.core.row import Speedup
from irbench.stats.rederive import rederive

_PAIR, _DEMO = "ort,openvino", "tf,tf-xla,ort,openvino"
_REPEATS = 3
_TARGET = 0.01
_TO_FIRST_ANSWER = ("import", "load", "compile", "first_inference")

_BEYOND = Goal("ratio", "<=", 1.3)
_DIRECTION, _NARROW, _TABLE = Goal("own", "<=", 30), Goal("own", "<=", 45), Goal("own", "<=", 100)
_NEVER = Goal("own", "<=", 0, always=True)


def measure(bench: Workbench) -> Iterator[Finding]:
    """Run both commands; the export that precedes a first run is not in their time."""
    bench.irbench("export", "resnet50")
    pairs, demos = in_turn(bench.repeats(_REPEATS), lambda: _run(bench, _PAIR), lambda: _run(bench, _DEMO))
    needed = tuple((sum(map(launch_ns, pair.launches)) + _timed_ns(pair)) / 1e9 for pair in pairs)
    remark = "; ".join(map(_parts, pairs))
    yield Finding("run", _what(_PAIR), "s", _walls(pairs), needed, "launch cost and timed time", _BEYOND, remark)
    yield _share_timed(_PAIR, pairs)
    yield _time_until("until it is faster, slower or the same", pairs, has_direction, _DIRECTION)
    yield _time_until("until the speedup is known to ±1 %, or a tenth of the difference", pairs, is_narrow, _NARROW)
    remark = "; ".join(map(_parts, demos))
    yield Finding("run", f"{_what(_DEMO)}, from start to table", "s", _walls(demos), goal=_TABLE, remark=remark)
    yield _share_timed(_DEMO, demos)
    previews = tuple(float(demo.table.preview) for demo in demos)
    yield Finding("run", f"{_DEMO}: tables that are a preview", own=previews, goal=_NEVER)


def launch_ns(record: LaunchRecord) -> int:
    """Return what it cost to bring a launch's workers to their first round.

    That is, from each worker's own phases: starting the interpreter, importing the runtime, loading, compiling, the
    first inference, and the warm-up. In a group's first launch all of that is one after the other and adds up. In later
    ones a worker starts while those before it import and compile, so that everything up to the first answers took
    as long as the last worker's start and its own phases, or those of an earlier one that took longer; warming up is
    one after the other again. Where workers did not compile side by side, because memory did not allow it, that is
    less than it was. Verifying outputs, freezing, and what passes between the phases are *not* in it.
    """
    starts = [cell.phases_ns.get("start", 0) for cell in record.cells]
    answered = [sum(cell.phases_ns.get(phase, 0) for phase in _TO_FIRST_ANSWER) for cell in record.cells]
    if record.launch == 0:
        begun = sum(starts) + sum(answered)
    else:
        begun = max((at + own for at, own in zip(itertools.accumulate(starts), answered, strict=True)), default=0)
    return begun + sum(cell.phases_ns.get("warm_up", 0) for cell in record.cells)


def timed_ns(record: LaunchRecord) -> int:
    """Return how long a launch's cells were running for a figure: rounds and the uninterrupted runs.

    A round lasts from its settling calls to its draining (``Evidence.wall_ns``); blocks that were excluded count,
    because they were measured. An uninterrupted run is its timed window alone.
    """
    return _rounds_ns(record.cells) + sum(item.wall_ns for item in record.sustained)


def first_where(tables: Sequence[GroupResult], known: Callable[[Speedup], bool]) -> int | None:
    """Return the first of some tables in which every speedup is known, counted from 0; ``None`` if none is."""
    for index, table in enumerate(tables):
        found = [row.speedup for row in table.cells if row.speedup is not None]
        if found and all(map(known, found)):
            return index
    return None


def has_direction(speedup: Speedup) -> bool:
    """Whether it is known to be faster, slower or the same."""
    return speedup.verdict in ("faster", "slower", "same")


def is_narrow(speedup: Speedup) -> bool:
    """Whether a speedup is known as well as a run tries to: half its interval, in logarithms, is 1 %, or a tenth of it.

    A preview has no interval.
    """
    wanted = max(_TARGET, abs(math.log(speedup.value)) / 10)
    if speedup.low is None or speedup.high is None:
        return False
    return math.log(speedup.high / speedup.low) / 2 <= wanted


def _rounds_ns(cells: Sequence[CellLaunch]) -> int:
    return sum(round_.evidence.wall_ns for cell in cells for round_ in cell.rounds)


def _run(bench: Workbench, backends: str) -> StoredRun:
    quick = ("--quick",) if bench.quick else ()
    return run_stored(bench, ("irbench",), "resnet50", "--backends", backends, *quick)


def _what(backends: str) -> str:
    return f"irbench run resnet50 --backends {backends}"


def _walls(runs: Sequence[StoredRun]) -> tuple[float, ...]:
    return tuple(run.seconds for run in runs)


def _timed_ns(run: StoredRun) -> int:
    return sum(map(timed_ns, run.launches))


def _parts(run: StoredRun) -> str:
    launching = sum(map(launch_ns, run.launches)) / 1e9
    table = run.table
    return (
        f"{table.launches} launches {launching:.0f} s, timed {_timed_ns(run) / 1e9:.0f} s, "
        f"before and after the launches {run.seconds - table.seconds:.0f} s, stopped by {table.stopped_by}"
    )


def _share_timed(backends: str, runs: Sequence[StoredRun]) -> Finding:
    shares = tuple(100 * _timed_ns(run) / 1e9 / run.seconds for run in runs)
    return Finding("run", f"{backends}: share of the wall time that is timed", "%", shares)


def _time_until(what: str, runs: Sequence[StoredRun], known: Callable[[Speedup], bool], goal: Goal) -> Finding:
    """Return when something was first known, by the same statistics and looks over a run's first launches.

    The time is that of the clock, from the start of the command until the launch was on the disk; where only the last
    launch told, until the command ended. It is infinite in a run that never told.
    """
    times = tuple(_known_s(run, known) for run in runs)
    return Finding("run", f"{_PAIR}: time {what}", "s", times, goal=goal)


def _known_s(run: StoredRun, known: Callable[[Speedup], bool]) -> float:
    counts = range(1, len(run.launches) + 1)
    index = first_where([rederive(run.document, run.launches[:count]).groups[0] for count in counts], known)
    if index is None:
        return math.inf
    return run.seconds if index == len(run.launches) - 1 else run.launch_ended_s[index]
