"""One row of a table: what was requested, what was effective, and all figures derived from its samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from irbench.notices import Mark
from irbench.record import Failure, OutputError
from irbench.spec import Disagreement, Io, Number, Program, Scalar

__all__ = [
    "CellResult",
    "GivenInputs",
    "LatencyMs",
    "PhasesMs",
    "Requested",
    "Spans",
    "Speedup",
    "State",
    "Verdict",
    "row_names",
    "tell_apart",
]

State = Literal["ok", "mismatch", "failed", "not-applicable", "interrupted"]
Verdict = Literal["faster", "slower", "same", "undecided", "preview"]


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
        value: The median over launches, which the interval is about, in the figure's unit. Not that of all calls
            together, which one slow launch may move.
        low: Lower end; the smallest launch where there are too few for an interval.
        high: Upper end.
        all_blocks_value: The figure over every block, those set aside included.
    """

    value: float
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
        confidence: That all that is called faster or slower in the table is, whenever the run stopped; null without.
        direction_confidence: At which this row alone is faster or slower, whichever it looks; null below 80 %.
        assumes_one_mode: Whether the interval assumes launches to scatter around one most frequent speed.
    """

    value: float
    low: float
    high: float
    verdict: Verdict
    excludes_one: bool
    all_blocks_value: float
    reason: Mark | None = None
    all_blocks_verdict: Verdict | None = None
    verified: bool | None = None
    launches: int | None = None
    confidence: float | None = None
    direction_confidence: float | None = None
    assumes_one_mode: bool = False


class PhasesMs(msgspec.Struct, frozen=True, kw_only=True):
    """How long the first launch's phases took, in milliseconds: later ones may start from what it left in caches.

    ``None`` is a phase that was not timed. A struct, because ``import`` is a Python keyword and must be renamed.
    """

    import_: float | None = msgspec.field(name="import")
    load: float | None
    compile: float | None
    first_inference: float | None
    warm_up: float | None
    ready: float | None


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
    new_shape_ms: float | None = None
    """What the first call of the shape took in a session that had met others: the median over launches, or null."""
    new_shape_over_launches: Spans | None = None
    launches_measured: int | None = None
    """In how many launches it ran: a row that is decided leaves before the others; null in older documents."""
    launch_spread: float | None = None
    speedup: Speedup | None = None
    output_error: OutputError | None = None
    phases_ms: PhasesMs | None = None
    peak_memory_bytes: Mapping[str, int] | None = None
    marks: tuple[Mark, ...] = ()
    disagreement: Disagreement | None = None
    """In what the conversion that made its graph failed; null where it did not."""
    dynamic: bool = False
    """Whether it ran the graph with dynamic shapes, as the file has them."""
    vendors: tuple[str, ...] = ()
    """Operator sets of vendors from which passes took operators for its graph, ``com.microsoft`` for example."""
    graph_precision: str = ""
    """The narrowest precision that its ONNX graph holds; empty in older documents, and where there is no such graph."""
    program: Program | None = None
    """The user's own code that it ran in place of a backend (``--cell``); null for a backend."""


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
class GivenInputs:
    """Inputs that were not generated.

    Attributes:
        source: Where the samples come from, as the user named it; null without samples, or for arrays in memory.
        samples: How many took turns; 0 without data.
        sha256: Digests of the samples' values, in hexadecimal, by input.
        values: Constants, by input.
        feedback: Outputs, by the inputs that they became in the next call.
    """

    source: str | None
    samples: int
    sha256: Mapping[str, str]
    values: Mapping[str, tuple[Number, ...]]
    feedback: Mapping[str, str]
