"""One row of a table: what was requested, what was effective, and all figures derived from its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from irbench.notices import Mark, Reference
from irbench.record import Failure, OutputError
from irbench.spec import (
    Accuracy,
    Disagreement,
    GraphFiles,
    InferenceWork,
    Io,
    Number,
    Program,
    PythonEnvironment,
    Scalar,
)

__all__ = [
    "CellResult",
    "EnergyUse",
    "GivenInputs",
    "LatencyMs",
    "PacedLatency",
    "PhasesMs",
    "Requested",
    "Spans",
    "Speedup",
    "State",
    "Verdict",
    "all_threads",
    "is_too_slow",
]

State = Literal["ok", "mismatch", "failed", "not-applicable", "interrupted", "not-measured"]
Verdict = Literal["faster", "slower", "same", "undecided", "preview"]


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
class PacedLatency:
    """Latency of calls that were due at regular intervals, in milliseconds, over all launches.

    Attributes:
        pace: From one call to the next.
        p50: Median from issue to completion.
        p90: 90th percentile of that; null where there are too few calls to bound it.
        p50_since_due: Median from when a call was due to its completion: of a late call, waiting for the one before
            counts. Null where more than half of the calls were late, of which the queue only grows.
        p90_since_due: 90th percentile of that.
        late: Calls that were due while the one before was still running.
        count: Calls.
    """

    pace: float
    p50: float
    p90: float | None
    p50_since_due: float | None
    p90_since_due: float | None
    late: int
    count: int


@dataclass(frozen=True)
class EnergyUse:
    """Energy of one inference of one batch while the row ran alone, and power: medians over launches.

    Attributes:
        joules: Of one inference, with what the idle machine uses in that time.
        joules_above_idle: Without that; null where idle power is unknown.
        watts: While it ran.
        idle_watts: While nothing ran and all rows were loaded; null where unknown.
        watts_by_domain: Of each part of the machine that is counted: ``package-0``, ``dram-0``, ``gpu-0``.
    """

    joules: float
    joules_above_idle: float | None
    watts: float
    idle_watts: float | None
    watts_by_domain: Mapping[str, float]


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
    mode: Literal["sync", "streams", "instances"]
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
    paced_ms: PacedLatency | None = None
    """Latency at the pace of ``--pace``; null without it."""
    paced_p50_over_launches: Spans | None = None
    paced_p90_over_launches: Spans | None = None
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
    return any(mark.code == "above-max-latency" for mark in row.marks)


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
