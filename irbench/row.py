"""One row of a table: what was requested, what was effective, and all figures derived from its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from irbench.notices import AnyMark, Note, Reference, Warn
from irbench.notices.marks import AboveMaxLatency
from irbench.record import Failure, OutputError
from irbench.row_figures import EnergyUse, LatencyMs, PacedLatency, PhasesMs, Spans, Speedup
from irbench.spec import (
    Accuracy,
    Cell,
    Disagreement,
    GraphFiles,
    InferenceWork,
    Io,
    Number,
    Program,
    PythonEnvironment,
    Scalar,
)

State = Literal["ok", "mismatch", "failed", "not-applicable", "interrupted", "not-measured"]
LaunchesStop = Literal["launches", "budget", "interrupt", "failures", "unfinished"]
"""Why launches for something besides speed ended: cold starts, profiles, counters."""
UNFINISHED_TEXT = "unfinished: still being measured, or the run was killed"
"""Why the measurement of a table has not ended."""


@dataclass(frozen=True)
class Requested:
    """What was asked of a cell.

    Attributes:
        threads: Of each process; null for ``native``.
        streams: Inferences that each process keeps in flight.
        precision: What it must compute in.
        instances: Processes that run the model side by side.
        options: Properties of its backend in which rows of the table differ (``--vary``).
    """

    threads: int | None
    streams: int
    precision: str
    instances: int = 1
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def all_threads(self) -> int | None:
        """Threads of all processes together; ``None`` where the runtime chooses them."""
        return None if self.threads is None else self.instances * self.threads


@dataclass(frozen=True, kw_only=True)
class CellHead:
    """What ran.

    Attributes:
        id: Unique in its table.
        label: What tables call it.
        artifact: The form of the model that it ran, with its level of optimisation; empty where there is none.
        backend: Its backend.
        device: Its device.
    """

    id: str
    label: str
    artifact: str
    backend: str
    device: str


@dataclass(frozen=True, kw_only=True)
class RowHead(CellHead):
    """What a row of any table says besides its figures: what was asked, and what became of it.

    Attributes:
        batch: Samples per inference.
        io: What the timed region covers.
        requested: What was asked of it.
        effective: What the runtime read back.
        state: What became of it.
        failure: Why there are no figures, or no more of them.
        output_error: How far its outputs are from the reference.
    """

    batch: int
    io: Io
    requested: Requested
    effective: Mapping[str, Scalar]
    state: State
    failure: Failure | None = None
    output_error: OutputError | None = None


Head = TypeVar("Head", bound=CellHead)
Row = TypeVar("Row", bound=RowHead)


def head_of(kind: type[Head], cell: Cell, **facts: Any) -> Head:
    """Return what is stored of a cell, of any kind, with what the cell itself says.

    Args:
        kind: Its class.
        cell: The cell.
        facts: All other fields.
    """
    return kind(
        id=cell.id,
        label=cell.label,
        artifact="" if cell.artifact is None else cell.artifact.label,
        backend=cell.backend,
        device=cell.device,
        **facts,
    )


def row_of(kind: type[Row], cell: Cell, **facts: Any) -> Row:
    """Return a row of any kind of table, with what its cell says; see :func:`head_of`."""
    load = cell.load
    requested = Requested(load.threads, load.streams, load.precision, load.instances, load.varied)
    return head_of(kind, cell, batch=load.batch, io=cell.io, requested=requested, **facts)


@dataclass(frozen=True, kw_only=True)
class CellResult(RowHead):
    """A row of speeds: what was asked, what it became, and every figure derived from its samples."""

    mode: Literal["sync", "streams", "instances"]
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
    paced_ms: PacedLatency | None = None
    """Latency at the pace of ``--pace``; null without it."""
    paced_p50_over_launches: Spans | None = None
    paced_p90_over_launches: Spans | None = None
    launches_measured: int | None = None
    """In how many launches it ran: a row that is decided leaves before the others; null in older documents."""
    launch_spread: float | None = None
    speedup: Speedup | None = None
    phases_ms: PhasesMs | None = None
    peak_memory_bytes: Mapping[str, int] | None = None
    marks: tuple[AnyMark, ...] = ()
    disagreement: Disagreement | None = None
    """In what the conversion that made its graph failed; null where it did not."""
    dynamic: bool = False
    """Whether it ran the graph with dynamic shapes, as the file has them."""
    vendors: tuple[str, ...] = ()
    """Operator sets of vendors from which passes took operators for its graph, ``com.microsoft`` for example."""
    model: str | None = None
    """What it runs; null in older documents, where all rows of a table run the table's."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Of its inputs, at its own batch size; empty in older documents, where all rows have the table's."""
    given_inputs: GivenInputs | None = None
    """Data, constants and feedback; null where they are the table's, and where every input was generated."""
    verified_against: Reference | None = None
    """Where its expected outputs came from; null where that is the table's, and where they were not verified."""
    graph_precision: str = ""
    """The narrowest precision that its ONNX graph holds; empty in older documents, and where there is no such graph."""
    program: Program | None = None
    """The user's own code that it ran in place of a backend (``--cell``); null for a backend."""
    graph_files: GraphFiles | None = None
    """Digest and size of its graph, before shapes were bound; null in older documents."""
    environment: PythonEnvironment | None = None
    """The Python whose runtime was measured; null for the one that irbench ran in."""
    accuracy: Accuracy | None = None
    """How good its outputs are by the user's measure; null without ``--min-accuracy`` and ``--metric``."""
    energy: EnergyUse | None = None
    """Null without ``--energy``, and where nothing could be read."""
    energy_over_launches: Spans | None = None
    energy_above_idle_over_launches: Spans | None = None
    private_memory_bytes: Mapping[str, int] | None = None
    """Memory at the end of each phase that no other process shares, in the launch with the most; null where unknown."""
    work: InferenceWork | None = None
    """What an inference takes; null where no peak of the machine is known (``irbench doctor --peak``), or the work of
    its graph cannot be counted."""
    gflop_per_s: float | None = None
    """Operations of that work in 10^9 per second, from the frames per second; null without ``work``."""
    roof_share: float | None = None
    """The share of what the machine attains at most for that work, as a fraction; null where that is not known."""

    @property
    def all_threads(self) -> int | None:
        """Threads of all of its processes together, as the runtime reports them; ``None`` where it does not."""
        return all_threads(self.effective, self.requested)


def all_threads(effective: Mapping[str, Scalar], requested: Requested) -> int | None:
    """Return the threads of all processes of a row together, as its runtime reports them; ``None`` where it does not.

    Args:
        effective: What the runtime of a process reported.
        requested: What was asked of the row.
    """
    threads = effective.get("threads")
    return requested.instances * threads if isinstance(threads, int) else None


def is_too_slow(row: CellResult) -> bool:
    """Whether a row answers later than was asked for, so that it is no candidate for the best."""
    return any(isinstance(mark, AboveMaxLatency) for mark in row.marks)


@dataclass(frozen=True)
class GivenInputs:
    """Inputs that were not generated.

    Attributes:
        source: Where the samples come from, as the user named it; null without samples, or for arrays in memory.
        samples: How many took turns; 0 without data.
        sha256: Digests of the samples' values, in hexadecimal, by input.
        values: Constants, by input.
        feedback: Outputs, by the inputs that they became in the next call.
        rows: How many entries along the batch axis the data had, where those were divided and joined to calls of
            ``rows_per_call``, the last one filled up with the first rows; 0 where each sample was a call.
        rows_per_call: How many of them make a call; 0 where ``rows`` is 0.
    """

    source: str | None
    samples: int
    sha256: Mapping[str, str]
    values: Mapping[str, tuple[Number, ...]]
    feedback: Mapping[str, str]
    rows: int = 0
    rows_per_call: int = 0


@dataclass(frozen=True, kw_only=True)
class TableHead:
    """What a table of any kind says of what its rows ran.

    Attributes:
        model: What the table is about.
        batch: Samples per inference.
        shapes: Of the inputs, by name.
        notes: What belongs below it.
    """

    model: str
    batch: int
    shapes: Mapping[str, tuple[int, ...]]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MeasuredTable(TableHead):
    """A table of rows whose answers may have been verified.

    Attributes:
        warnings: What speaks against its figures.
        verified_against: Where the expected outputs came from; null where outputs were not verified.
        given_inputs: Data, constants and feedback; null where every input was generated.
    """

    warnings: tuple[Warn, ...] = ()
    verified_against: Reference | None = None
    given_inputs: GivenInputs | None = None
