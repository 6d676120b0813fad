"""What irbench's synchronous loop adds to a timed call, against a bare loop that reads the clock."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import msgspec

from benchmarks.rows import Finding, Goal
from benchmarks.workbench import Workbench
from irbench.measure.overhead import Overhead, Repeats

_WORKER = """
import sys, msgspec
from irbench.measure.overhead import measure_overhead
sys.stdout.write(msgspec.json.encode(measure_overhead()).decode())
"""


def measure(bench: Workbench) -> Iterator[Finding]:
    """Let the loops take turns, in several fresh processes."""
    processes = range(bench.repeats(7))
    yield from findings([msgspec.json.decode(bench.run("python", "-c", _WORKER).out, type=Overhead) for _ in processes])


def findings(found: Sequence[Overhead]) -> Iterator[Finding]:
    """Return the medians of each process, in microseconds."""
    driver = _microseconds([item.driver for item in found])
    bare = _microseconds([item.bare for item in found])
    calls = _microseconds([item.calls for item in found])
    goal = Goal("difference", "<=", 0.3)
    yield Finding(
        "harness", "a timed call that does nothing", "µs", driver, bare, "a bare loop", goal, "fresh processes"
    )
    yield Finding("harness", "the same", "µs", driver, calls, "a loop of the same three calls")


def _microseconds(loops: Sequence[Repeats]) -> tuple[float, ...]:
    return tuple(statistics.median(loop.values_ns) / 1e3 for loop in loops)
