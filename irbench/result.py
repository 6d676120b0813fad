"""What came back: the run document, which every table and export is made from.

The document's classes are its format: ``irbench.store`` reads and writes them as JSON and
the shipped JSON Schema is generated from them. Every number is a JSON number, and ``null``
is what was not measured. Format history: 1 is the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from irbench.record import Failure, OutputError
from irbench.spec import Io, Scalar

__all__ = [
    "SCHEMA_VERSION",
    "Basis",
    "CellResult",
    "GroupResult",
    "LatencyMs",
    "Lead",
    "NoWinner",
    "PhasesMs",
    "Requested",
    "RunDocument",
    "Spans",
    "Speedup",
    "State",
    "StoppedBy",
    "Verdict",
    "Warn",
    "Winner",
    "row_names",
    "tell_apart",
]

SCHEMA_VERSION = 1

State = Literal["ok", "mismatch", "failed", "not-applicable", "interrupted"]
Verdict = Literal["faster", "slower", "same", "undecided", "preview"]
NoWinner = Literal[
    "preview", "same", "undecided", "busy", "all-blocks-disagree", "throughput-disagrees", "sustained-disagrees"
]
"""Why no cell is called the fastest: too few launches; no difference that matters; none that is sure; most blocks were
disturbed; the rival is faster over all blocks, in throughput, or where each runs alone."""
StoppedBy = Literal["target", "launches", "budget", "interrupt", "failures", "unfinished"]
"""``failures``: no healthy cell was left; ``unfinished``: the group was still being measured when this was written."""


@dataclass(frozen=True)
class Warn:
    """Something a reader must know, with what to do about it."""

    code: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Requested:
    """What was asked of a cell; ``threads`` is null for ``native``."""

    threads: int | None
    streams: int
    precision: str


@dataclass(frozen=True)
class Spans:
    """The interval of a figure over launches, for this row alone.

    Attributes:
        low: Lower end, in the figure's unit; the smallest launch where there are too few for an interval.
        high: Upper end.
        all_blocks_value: The figure over every block, those set aside included.
    """

    low: float
    high: float
    all_blocks_value: float | None = None


@dataclass(frozen=True)
class LatencyMs:
    """Milliseconds from issue to completion of one batch, over the calls of the blocks that count.

    Percentiles use linear interpolation, and are null where there are too few calls to bound them. ``p90`` and ``min``
    are null where a sample is several calls; ``p99`` and ``p99_9`` come from ``--tail`` only.
    """

    p50: float
    p90: float | None
    p99: float | None
    p99_9: float | None
    min: float | None
    mean: float
    count: int
    calls_per_sample: int


@dataclass(frozen=True)
class Speedup:
    """How much faster a cell is than the baseline: above 1 is faster.

    Attributes:
        value: exp of minus the median over launches of the paired log ratio.
        low: Lower end of the interval over launches, adjusted for the number of rows;
            the smallest and largest launch in a preview.
        high: Upper end.
        verdict: What the interval says.
        excludes_one: Whether the interval leaves 1 out.
        all_blocks_value: The same value over every block, those set aside included.
        reason: Why the value is marked, for example that precisions differ.
        all_blocks_verdict: What the interval over every block says; null where it was not derived.
        verified: Whether the answers of both rows were held against a reference; null in older documents.
        launches: How many measured both; null in older documents.
        confidence: That the verdicts and intervals of the whole table hold, whenever the run stopped; null without.
        direction_confidence: At which this row alone is faster or slower, whichever it looks; null below 80 %.
        assumes_one_mode: Whether the interval assumes launches to scatter around one most frequent speed.
    """

    value: float
    low: float
    high: float
    verdict: Verdict
    excludes_one: bool
    all_blocks_value: float
    reason: str | None = None
    all_blocks_verdict: Verdict | None = None
    verified: bool | None = None
    launches: int | None = None
    confidence: float | None = None
    direction_confidence: float | None = None
    assumes_one_mode: bool = False


class PhasesMs(msgspec.Struct, frozen=True, kw_only=True):
    """How long the first launch's phases took, in milliseconds: later ones may start from what it left in caches.

    A struct, because ``import`` is a Python keyword and must be renamed.
    """

    import_: float = msgspec.field(name="import")
    load: float
    compile: float
    first_inference: float
    warm_up: float
    ready: float


@dataclass(frozen=True)
class CellResult:
    """One row: what was asked, what it became, and every figure derived from its samples."""

    id: str
    label: str
    artifact: str
    backend: str
    device: str
    mode: Literal["sync", "streams"]
    batch: int
    io: Io
    requested: Requested
    effective: Mapping[str, Scalar]
    state: State
    failure: Failure | None = None
    latency_ms: LatencyMs | None = None
    p50_over_launches: Spans | None = None
    p90_over_launches: Spans | None = None
    fps: float | None = None
    fps_over_launches: Spans | None = None
    sustained_fps: float | None = None
    sustained_over_launches: Spans | None = None
    launches_measured: int | None = None
    """In how many launches it ran: a row that is decided leaves before the others; null in older documents."""
    launch_spread: float | None = None
    speedup: Speedup | None = None
    output_error: OutputError | None = None
    phases_ms: PhasesMs | None = None
    peak_memory_bytes: Mapping[str, int] | None = None
    marks: tuple[str, ...] = ()
    caution: str | None = None
    """In what the conversion that made its graph failed, the agreement with fp32 for example."""
    vendors: tuple[str, ...] = ()
    """Operator sets of vendors from which passes took operators for its graph, ``com.microsoft`` for example."""


def row_names(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return what sentences call each row of a table, by cell id: no two are called the same."""
    return tell_apart({cell.id: (cell.label, cell.requested.precision) for cell in cells})


def tell_apart(cells: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return each cell's label by its id, with its precision where another cell has the same label.

    Args:
        cells: Label and requested precision by cell id. The one asked for tells them apart where the effective
            one does not: ``native`` may turn out to be ``fp32``.
    """
    often = Counter(label for label, _ in cells.values())
    return {cell: label if often[label] == 1 else f"{label} {precision}" for cell, (label, precision) in cells.items()}


@dataclass(frozen=True)
class Winner:
    """The fastest cell against its nearest rival, adjusted for having been chosen as the best."""

    cell: str
    rival: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Lead:
    """The cell that looks fastest against its nearest rival, whether or not it may be called the winner.

    Attributes:
        cell: Its id.
        rival: The id of the cell that comes next.
        value: How many times as fast as its rival it is.
        low: Lower end of the interval, adjusted for having chosen the best; the smallest launch in a preview.
        high: Upper end.
        launches: How many measured both.
        reason: Why it is no winner; null where it is.
    """

    cell: str
    rival: str
    value: float
    low: float
    high: float
    launches: int
    reason: NoWinner | None = None


@dataclass(frozen=True)
class Basis:
    """What a table was derived from besides raw samples, its rows and the plan.

    Attributes:
        cells: Cell ids in the order in which they were asked for.
        baseline: The id of the cell that was asked to be the baseline.
        budget_s: Wall time that the group was given.
        derived_warnings: How many of the table's warnings, the last ones, follow from the samples.
        derived_notes: How many of its notes, the first ones, do.
    """

    cells: tuple[str, ...]
    baseline: str
    budget_s: float
    derived_warnings: int
    derived_notes: int


@dataclass(frozen=True)
class GroupResult:
    """One table.

    Attributes:
        verified_against: Where the expected outputs came from; null where outputs were not verified.
        basis: What the table can be derived from again, together with the raw samples.
    """

    model: str
    batch: int
    shapes: Mapping[str, tuple[int, ...]]
    baseline: str | None
    launches: int
    blocks_per_launch: int
    blocks_set_aside: int
    blocks_measured: int
    stopped_by: StoppedBy
    preview: bool
    seconds: float
    winner: Winner | None
    cells: tuple[CellResult, ...]
    warnings: tuple[Warn, ...] = ()
    notes: tuple[str, ...] = ()
    verified_against: str | None = None
    basis: Basis | None = None
    lead: Lead | None = None
    blocks_disturbed: int | None = None
    """How many blocks something outside disturbed, set aside or not; null in older documents."""

    @property
    def unverified(self) -> bool:
        """Whether some speedup is of answers that nothing was held against."""
        return any(cell.speedup is not None and cell.speedup.verified is False for cell in self.cells)


@dataclass(frozen=True)
class RunDocument:
    """One run: the JSON document, and what the store keeps beside the raw samples.

    Attributes:
        schema_version: Of this document's format.
        run_id: A ULID.
        created: ISO 8601, UTC.
        irbench_version: Of the program that measured.
        environment: The machine and its software.
        plan: What was asked for, as the command line resolved it.
        groups: One per table.
        launches: Digest (SHA-256) of each committed launch file, by file name.
        complete: False until the run has ended by itself.
    """

    schema_version: int
    run_id: str
    created: str
    irbench_version: str
    environment: Mapping[str, Any]
    plan: Mapping[str, Any]
    groups: tuple[GroupResult, ...] = ()
    launches: Mapping[str, str] = field(default_factory=dict[str, str])
    complete: bool = False
