"""A row of cold starts: what each launch took from the start of its process to its first output, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from irbench.core.row import (
    UNFINISHED_TEXT,
    LaunchesStop,
    MeasuredTable,
    RowHead,
    Spans,
    Speedup,
    distinguish,
    name_of,
)

CacheState = Literal["cold", "warm"]
"""``cold``: the files are not in the page cache, and nothing is in the caches of compiled code; ``warm``: both are."""
COLD_STOP_TEXTS: Mapping[LaunchesStop, str] = {
    "launches": "launch limit reached",
    "budget": "the budget has no time for another round",
    "interrupt": "interrupted",
    "failures": "all backends failed",
    "unfinished": UNFINISHED_TEXT,
}
"""Why a table's measurement ended."""

COLD_PHASES = ("start", "import", "load", "compile", "first_inference")
"""In the order of time; together they are the time to the first output."""


@dataclass(frozen=True)
class ColdLaunch:
    """One launch, raw.

    Attributes:
        round: Counted from 0; launches of one round are compared with each other.
        phases_ns: Duration of each of :data:`COLD_PHASES`, in nanoseconds. ``start`` lasts from before the process is
            started to its first line; ``import`` includes NumPy.
        own_ns: What irbench itself took in between, which no phase includes.
        resident_share: How much of the files that the row reads was in the page cache when it began, from 0 to 1; null
            where the kernel does not report it.
        read_bytes: What the process fetched from disks; null where the kernel does not report it.
    """

    round: int
    phases_ns: Mapping[str, int]
    own_ns: int
    resident_share: float | None = None
    read_bytes: int | None = None

    @property
    def ready_ns(self) -> int:
        """Process start to first output, without what irbench itself took."""
        return sum(self.phases_ns.get(phase, 0) for phase in COLD_PHASES)


@dataclass(frozen=True)
class ColdPhasesMs:
    """Medians over launches, in milliseconds; null for a phase that was not timed. Their sum is not the median sum."""

    start: float | None = None
    import_: float | None = None
    load: float | None = None
    compile: float | None = None
    first_inference: float | None = None


@dataclass(frozen=True, kw_only=True)
class ColdRow(RowHead):
    """One cell with its caches in one state.

    Attributes:
        cache: The state of its caches.
        ready_ms: Process start to first output: the median over launches with its interval, in milliseconds.
        ready_confidence: Of that interval; null where there are too few launches for one.
        speedup: Against the baseline with its caches in the same state, launch by launch; null for the baseline.
        resident_share: Median over launches; see :class:`ColdLaunch`.
        read_bytes: Median over launches; see :class:`ColdLaunch`.
        file_bytes: Size of all files that the row reads.
        launches: Every launch, raw.
    """

    cache: CacheState
    ready_ms: Spans | None = None
    ready_confidence: float | None = None
    phases_ms: ColdPhasesMs | None = None
    speedup: Speedup | None = None
    resident_share: float | None = None
    read_bytes: int | None = None
    file_bytes: int | None = None
    launches: tuple[ColdLaunch, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ColdTable(MeasuredTable):
    """The rows of one model at one size, each cell once for each state of the caches.

    Attributes:
        baseline: Id of the cell that speedups are relative to.
        rounds: How many were finished.
        preview: Whether there are too few of them for intervals.
    """

    baseline: str | None
    rounds: int
    preview: bool
    stopped_by: LaunchesStop
    seconds: float
    rows: tuple[ColdRow, ...] = ()


def cold_names(table: ColdTable) -> dict[tuple[str, CacheState], str]:
    """Return what each row is called, by the id of its cell and the state of its caches: ``ort, cold cache``."""
    cells = distinguish({row.id: name_of(row) for row in table.rows})
    return {(row.id, row.cache): f"{cells[row.id]}, {row.cache} cache" for row in table.rows}
