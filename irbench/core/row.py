"""One row of a table: what was requested, what was effective, and all figures derived from its samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from irbench.core.record import Failure, OutputError
from irbench.notices import AnyMark, AnyNote, AnyWarn, Reference
from irbench.notices.marks import AboveMaxLatency
from irbench.spec import (
    Accuracy,
    Cell,
    Disagreement,
    GraphFiles,
    Group,
    InferenceWork,
    Io,
    LossCheck,
    Neighbour,
    Number,
    Program,
    PythonEnvironment,
    Scalar,
)

Verdict = Literal["faster", "slower", "same", "undecided", "preview"]


class Ends(NamedTuple):
    """Between which values a figure lies, as far as that is known.

    Attributes:
        low: Lower end.
        high: Upper end.
        is_range: Whether they are the smallest and the largest of a few launches, which have no confidence, and not
            those of a confidence interval.
    """

    low: float
    high: float
    is_range: bool


@dataclass(frozen=True, kw_only=True)
class WithEnds:
    """A figure over launches: it has a confidence interval, or a range over too few launches for one, or neither.

    Attributes:
        low: Lower end of the interval; null where there are too few launches for one.
        range_low: The smallest launch, where there are too few for an interval and more than one; null otherwise.
    """

    low: float | None = None
    high: float | None = None
    range_low: float | None = None
    range_high: float | None = None

    @property
    def ends(self) -> Ends | None:
        """The interval where there is one, else the range; ``None`` after a single launch."""
        if self.low is not None and self.high is not None:
            return Ends(self.low, self.high, is_range=False)
        if self.range_low is not None and self.range_high is not None:
            return Ends(self.range_low, self.range_high, is_range=True)
        return None


@dataclass(frozen=True)
class Estimated:
    """A figure that was estimated."""

    value: float


@dataclass(frozen=True)
class Spans(WithEnds, Estimated):
    """The interval of a figure over launches, for this row alone.

    Attributes:
        value: The median over launches, which the interval is about, in the figure's unit. Not that of all calls
            together, which one slow launch may move.
        all_blocks_value: The figure over every block, disturbed ones included.
    """

    all_blocks_value: float | None = None

    def scaled(self, factor: float) -> Spans:
        """Return it in another unit, of which there are so many in each of the figure's."""
        known = {name: factor * value for name, value in asdict(self).items() if value is not None}
        return Spans(**known)


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
        lag_p99: 99th percentile of the time from when a call was due and its slot was free until it was issued: what
            measuring itself adds, as ``start_lag_p99_ms`` of a load of requests. Null in runs of older versions.
    """

    pace: float
    p50: float
    p90: float | None
    p50_since_due: float | None
    p90_since_due: float | None
    late: int
    count: int
    lag_p99: float | None = None


@dataclass(frozen=True)
class Generated:
    """What was generated in each call, and how long its tokens took: medians over launches.

    Attributes:
        new_tokens: Tokens of a call, each of every sample in its batch.
        prompt: Tokens that were read before the first.
        first_token_ms: From the begin of a call to its first token: reading the prompt. Null where a function of the
            user's returned all tokens at once, of which no other times are known either.
        token_ms: From one token to the next, the median over all of them; null with a single token.
        prompt_tokens_per_s: Prompt tokens of all samples of a batch per second of ``first_token_ms``, of one stream.
            Null where that is null, and with an encoder, which it is the time of too.
        tokens_per_s: Tokens per second, those of all streams and samples together.
        fixed_ms: The part of ``token_ms`` that does not depend on how many positions the cache holds: ``a`` of
            ``a + b * length``, by the median slope over the tokens of each launch. Null with few tokens.
        position_us: Microseconds that each position in the cache adds: ``b``.
        cache_bytes: Size of a stream's caches at the end of a call; null where that is not known.
        position_bytes: Memory that each position in the cache adds to the process, in the first text that it generates:
            what a runtime keeps besides the cache included. Null with few tokens, where all of them add less than 4
            MiB, and where it is not known.
        first_token_p90_ms: The 90th percentile of the time to the first token over all calls, not over launches. Null
            with too few calls to bound it; ``first_token_p99_ms`` likewise.
        token_p90_ms: The same of the time from one token to the next, over all tokens of all calls.
    """

    new_tokens: int
    prompt: int
    first_token_ms: Spans | None
    token_ms: Spans | None
    tokens_per_s: Spans
    fixed_ms: Spans | None = None
    position_us: Spans | None = None
    cache_bytes: int | None = None
    position_bytes: Spans | None = None
    prompt_tokens_per_s: Spans | None = None
    first_token_p90_ms: float | None = None
    first_token_p99_ms: float | None = None
    token_p90_ms: float | None = None
    token_p99_ms: float | None = None


@dataclass(frozen=True)
class StepPart:
    """A training step, or a part of it: medians over launches.

    Attributes:
        name: ``whole``, ``input`` and ``compute``, the means of all steps, of which the first is the sum of the others;
            ``host``, ``forward``, ``backward`` and ``optimizer``, of steps on a batch that is in memory already; and
            ``beside``: by how much compute takes longer while the pipeline works beside it.
        ms: Milliseconds of a step; below 0 where a difference of two times is lost in what they scatter.
    """

    name: str
    ms: Spans


@dataclass(frozen=True)
class StageTime:
    """A stage of a pipeline: medians over launches.

    Attributes:
        name: As the user calls it.
        ms: Milliseconds of a call, the median over all of them.
        share: Of the time of all stages of all calls together, as a fraction.
    """

    name: str
    ms: Spans
    share: Spans


@dataclass(frozen=True)
class BesideNeighbour:
    """What a neighbour did while a row was measured beside it, and how much slower both were: medians over launches.

    Attributes:
        processors: How many processors it used, as the CPU time of its work over the time that passed.
        gb_per_s: 10^9 bytes per second that it read and wrote; null where nobody counts them.
        calls_per_s: Calls per second of a model; null for other neighbours.
        p50_ms: Median latency of a model's calls.
        p90_ms: 90th percentile of that.
        alone: The same while the row stood still: ``gb_per_s``, ``calls_per_s`` or ``processors``, the first of them
            that is not null; null where it is not known.
        slowdown: How much slower it was beside the row, by the median latency of a model's calls or by bytes: 1 is not
            at all. Null where its work is not counted: for ``cpu`` and commands.
        p90_slowdown: How many times the p90 latency of the row is that of the baseline; null where calls are too few.
        achieved_share: Which share it did of the processors to keep busy, or the calls per second, that were asked of
            it, as a fraction; null where no amount was asked.
    """

    processors: Spans
    gb_per_s: Spans | None = None
    calls_per_s: Spans | None = None
    p50_ms: Spans | None = None
    p90_ms: Spans | None = None
    alone: Spans | None = None
    slowdown: Spans | None = None
    p90_slowdown: Spans | None = None
    achieved_share: float | None = None


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
class Speedup(WithEnds, Estimated):
    """How much faster a cell is than the baseline: above 1 is faster.

    Attributes:
        value: exp of minus the median over launches of the paired log ratio.
        low: Lower end of the interval over launches, adjusted for the number of rows; null where there are too few
            launches for one, and where other programs were busier in the turns of one row.
        high: Upper end; null likewise.
        verdict: What the interval says.
        excludes_one: Whether the interval leaves 1 out; false without one.
        all_blocks_value: The same value over every block, disturbed ones included.
        reason: Why the value is marked, for example that precisions differ.
        all_blocks_verdict: What the interval over every block says; null where it was not derived.
        verified: Whether the answers of both rows were compared with a reference; null in older documents.
        launches: How many measured both; null in older documents.
        confidence: Of the interval, at which the row was tested: by Holm's procedure above ``table_confidence`` where
            several rows are. Null without an interval, and in older documents.
        direction_confidence: At which this row alone is faster or slower, whichever it looks; null below 80 %.
        assumes_one_mode: Whether the interval assumes launches to scatter around one most frequent speed.
        table_confidence: That all that is called faster or slower in the table is, whenever the run stopped; null
            without an interval.
    """

    verdict: Verdict
    excludes_one: bool
    all_blocks_value: float
    reason: AnyMark | None = None
    all_blocks_verdict: Verdict | None = None
    verified: bool | None = None
    launches: int | None = None
    confidence: float | None = None
    direction_confidence: float | None = None
    assumes_one_mode: bool = False
    table_confidence: float | None = None

    @property
    def moves_with_all_blocks(self) -> bool:
        """Whether the value over all blocks lies outside the interval or range; false where there is neither."""
        return self.ends is not None and not self.ends.low <= self.all_blocks_value <= self.ends.high


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


State = Literal["ok", "mismatch", "failed", "not-applicable", "interrupted", "not-measured"]
LaunchesStop = Literal["launches", "budget", "interrupt", "failures", "unfinished"]
"""Why launches for something besides speed ended: cold starts, profiles, counters."""
UNFINISHED_TEXT = "unfinished: still being measured, or the run was killed"
"""Why the measurement of a table has not ended."""
ENDED_EARLY = ("interrupt", "unfinished")
"""Reasons to stop that leave a table to be continued, of whatever kind it is."""


@dataclass(frozen=True)
class Requested:
    """What was asked of a cell.

    Attributes:
        threads: Of each process; null for ``native``.
        streams: Inferences that each process keeps in flight.
        precision: What it must compute in.
        instances: Processes that run the model side by side.
        options: Properties of its backend in which rows of the table differ (``--vary``).
        beside: What ran at the same time; null for nothing.
    """

    threads: int | None
    streams: int
    precision: str
    instances: int = 1
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    beside: Neighbour | None = None

    @property
    def all_threads(self) -> int | None:
        """Threads of all processes together; ``None`` where the runtime chooses them."""
        return None if self.threads is None else self.instances * self.threads


@dataclass(frozen=True, kw_only=True)
class CellHead:
    """What ran.

    Attributes:
        id: Unique in its table.
        artifact: The form of the model that it ran, with its level of optimisation; empty where there is none.
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
        io: What the timed region covers.
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
    """Return what is stored of a cell, of any kind, with what the cell itself says."""
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
    requested = Requested(load.threads, load.streams, load.precision, load.instances, load.varied, load.beside)
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
    generation: Generated | None = None
    """What each call generated; null where calls are single inferences."""
    stages: tuple[StageTime, ...] = ()
    """The stages of each call, in order; empty where it has none."""
    step_parts: tuple[StepPart, ...] = ()
    """What the parts of a training step cost; empty for anything else, and where a step cannot be divided."""
    loss: LossCheck | None = None
    """How the loss went before training steps were timed; null for anything else."""
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
    neighbour: BesideNeighbour | None = None
    """What ran beside it did; null where nothing did."""

    @property
    def all_threads(self) -> int | None:
        """Threads of all of its processes together, as the runtime reports them; ``None`` where it does not."""
        return all_threads(self.effective, self.requested)


def all_threads(effective: Mapping[str, Scalar], requested: Requested) -> int | None:
    """Return the threads of all processes of a row, as its runtime reports them; ``None`` where it does not."""
    threads = effective.get("threads")
    return requested.instances * threads if isinstance(threads, int) else None


def is_too_slow(row: CellResult) -> bool:
    """Whether a row answers later than was asked for, so that it cannot be the best."""
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
        rows: How many entries along the batch axis the data had, of which calls of ``rows_per_call`` were made, the
            last one filled up with the first rows; 0 where each file or mapping was one sample in a call of its own.
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
    """What a table of any kind says of what its rows ran."""

    model: str
    batch: int
    shapes: Mapping[str, tuple[int, ...]]
    notes: tuple[AnyNote, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MeasuredTable(TableHead):
    """A table of rows whose answers may have been verified.

    Attributes:
        verified_against: Where the expected outputs came from; null where outputs were not verified.
        given_inputs: Data, constants and feedback; null where every input was generated.
    """

    warnings: tuple[AnyWarn, ...] = ()
    verified_against: Reference | None = None
    given_inputs: GivenInputs | None = None


Place = TypeVar("Place")
"""What tells rows apart for a program: a cell id, with the number of a table where there are several."""


@dataclass(frozen=True)
class RowName:
    """What a row is called, and what else tells it from rows that are called the same.

    Attributes:
        label: Backend, variant and streams: ``openvino+basic x4``.
        precision: The one asked for: it tells rows apart where the effective one does not, because ``native`` may turn
            out to be ``fp32``.
        threads: Asked for; ``None`` for ``native``.
        inputs: The prompt or the shapes of a row, where several tables have rows that are else called the same.
    """

    label: str
    model: str
    precision: str
    batch: int
    threads: int | None
    inputs: str = ""

    @property
    def details(self) -> tuple[str, ...]:
        """What may follow the label, the most telling first."""
        threads = "native threads" if self.threads is None else f"{self.threads} thread{'s' * (self.threads != 1)}"
        return self.model, self.precision, f"batch {self.batch}", threads, self.inputs


class _NamedRow(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def batch(self) -> int: ...
    @property
    def requested(self) -> Requested: ...


def row_names(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return what sentences call each row of a table, by cell id: no two are called the same."""
    return distinguish({cell.id: name_of(cell, cell.model or "") for cell in cells})


def cell_names(group: Group) -> dict[str, str]:
    """Return the same of the cells of a group, before there is a table."""
    return distinguish(
        {
            cell.id: RowName(cell.label, group.workload_of(cell).bundle.name, load.precision, load.batch, load.threads)
            for cell in group.cells
            for load in (cell.load,)
        }
    )


def name_of(row: _NamedRow, model: str = "") -> RowName:
    """Return the name of a row; ``model`` is empty where all rows of the table run the same."""
    return RowName(row.label, model, row.requested.precision, row.batch, row.requested.threads)


def distinguish(names: Mapping[Place, RowName]) -> dict[Place, str]:
    """Return each row's label by its place, with those details in which rows of the same label differ."""
    alike: dict[str, list[RowName]] = {}
    for name in names.values():
        alike.setdefault(name.label, []).append(name)
    differing = {label: _differing(rows) for label, rows in alike.items()}
    return {
        row: " ".join((name.label, *(name.details[place] for place in differing[name.label])))
        for row, name in names.items()
    }


def _differing(names: Sequence[RowName]) -> tuple[int, ...]:
    return tuple(
        place
        for place, details in enumerate(zip(*(name.details for name in names), strict=True))
        if len(set(details)) > 1
    )
