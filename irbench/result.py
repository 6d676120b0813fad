"""What came back: raw rounds, and the run document that every table and export is derived from.

The document's classes are its format: ``irbench.store`` reads and writes them as JSON and
the shipped JSON Schema is generated from them. Every number is a JSON number, and ``null``
is what was not measured. Format history: 1 is the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from irbench.spec import Io, Scalar

__all__ = [
    "SCHEMA_VERSION",
    "BlockEvidence",
    "CellLaunch",
    "CellResult",
    "Evidence",
    "Failure",
    "GroupResult",
    "LatencyMs",
    "LaunchRecord",
    "OutputError",
    "PhasesMs",
    "Requested",
    "Round",
    "RunDocument",
    "Speedup",
    "State",
    "StoppedBy",
    "Sustained",
    "Verdict",
    "Warn",
    "Winner",
]

SCHEMA_VERSION = 1

State = Literal["ok", "mismatch", "failed", "not-applicable", "interrupted"]
Verdict = Literal["faster", "slower", "same", "undecided", "preview"]
StoppedBy = Literal["target", "launches", "budget", "interrupt"]


@dataclass(frozen=True)
class Evidence:
    """What the kernel saw during a round, for the worker's own process unless named foreign.

    Attributes:
        wall_ns: Duration of the timed window.
        cpu_ns: CPU time of all the worker's threads.
        run_queue_wait_ns: Time its threads were ready to run but did not.
        voluntary_switches: Times a thread gave the processor up.
        involuntary_switches: Times a thread lost it.
        minor_faults: Page faults served from memory.
        major_faults: Page faults served from disk.
    """

    wall_ns: int
    cpu_ns: int
    run_queue_wait_ns: int
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int


@dataclass(frozen=True)
class Round:
    """One cell's turn in a block.

    Attributes:
        block: The block it belongs to, counted from 0 in its launch.
        issue_ns: When each call (or sample of ``calls_per_sample`` calls) was issued, int64, from the opening of
            the timed window. Negative for a streamed request that was already in flight then.
        completion_ns: When each completed, int64, ascending. The timed window lasts from 0 to the last of them,
            and load is kept up throughout, so FPS is batch x samples x calls_per_sample / ``completion_ns[-1]``.
        evidence: What the kernel saw, over the settle calls, the timed window and the draining.
    """

    block: int
    issue_ns: NDArray[np.int64]
    completion_ns: NDArray[np.int64]
    evidence: Evidence

    @property
    def latency_ns(self) -> NDArray[np.int64]:
        """Issue to completion of each sample, int64."""
        return self.completion_ns - self.issue_ns


@dataclass(frozen=True)
class Failure:
    """Why a cell has no number."""

    stage: str
    message: str
    hint: str | None = None


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
class LatencyMs:
    """Milliseconds from issue to completion of one batch, over the calls of the blocks that count.

    Percentiles use linear interpolation. ``p90`` and ``min`` are null where a sample is several
    calls; ``p99`` and ``p99_9`` come from ``--tail`` only.
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
        low: Lower end of the interval over launches, at the plan's confidence;
            the smallest and largest launch in a preview.
        high: Upper end.
        verdict: What the interval says.
        excludes_one: Whether the interval leaves 1 out.
        all_blocks_value: The same value over every block, those set aside included.
        reason: Why the value is marked, for example that precisions differ.
    """

    value: float
    low: float
    high: float
    verdict: Verdict
    excludes_one: bool
    all_blocks_value: float
    reason: str | None = None


@dataclass(frozen=True)
class OutputError:
    """How far outputs are from the reference, worst over all outputs.

    ``max_rel`` is max abs(a - b) / max abs(b). ``top1_agreement`` is null unless the model is a classifier.
    """

    max_abs: float
    max_rel: float
    cosine: float
    top1_agreement: float | None


@dataclass(frozen=True)
class CellLaunch:
    """Everything one cell measured in one launch.

    Attributes:
        cell: The cell's id.
        streams: Inferences in flight.
        calls_per_sample: Calls that one latency sample lasts; 1 unless calls are very short.
        rounds: One for each block, in order of blocks.
        steady: Whether the warm-up ended because its chunks agreed.
        phases_ns: Duration of ``import``, ``load``, ``compile``, ``first_inference`` and ``warm_up``, and
            ``ready``: process start to first answer, less the time it waited for its turn.
        peak_memory_bytes: Resident peak of each phase, by the phase's name, and ``process`` over all of them.
        effective: What the runtime read back.
        output_error: How far its outputs are from the reference; ``None`` where this launch did not verify.
        tail_ns: Latencies of the uninterrupted calls of ``--tail``, int64; empty without it.
    """

    cell: str
    streams: int
    calls_per_sample: int
    rounds: tuple[Round, ...]
    steady: bool
    phases_ns: Mapping[str, int]
    peak_memory_bytes: Mapping[str, int]
    effective: Mapping[str, Scalar]
    output_error: OutputError | None = None
    tail_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True)
class BlockEvidence:
    """What happened on the machine during one block.

    Attributes:
        block: Counted from 0 in its launch.
        order: Cell ids in the order in which they were run.
        wall_ns: Duration of the whole block.
        foreign_cpu_ns: CPU time that processes outside irbench's own tree used.
        throttled_ns: Time the cgroup's quota held our processes back.
        steal_ns: Time the hypervisor ran something else.
        core_to_core_ns: Half a round trip between two pinned processes; ``None`` with one processor.
    """

    block: int
    order: tuple[str, ...]
    wall_ns: int
    foreign_cpu_ns: int
    throttled_ns: int
    steal_ns: int
    core_to_core_ns: float | None


@dataclass(frozen=True)
class Sustained:
    """One cell alone and uninterrupted: completions and the wall time they took."""

    cell: str
    completions: int
    wall_ns: int


@dataclass(frozen=True)
class LaunchRecord:
    """One launch of a group: the unit of replication, and what the store keeps in one file.

    Attributes:
        group: Which group of the run, counted from 0.
        launch: Counted from 0.
        cells: The cells that measured.
        failures: Why the others did not, by cell id.
        blocks: What happened on the machine, one for each block.
        sustained: Filled in the last launch only.
        load_average: Of one minute, at the launch's end.
        frozen: Whether idle workers were really frozen.
    """

    group: int
    launch: int
    cells: tuple[CellLaunch, ...]
    failures: Mapping[str, Failure]
    blocks: tuple[BlockEvidence, ...]
    sustained: tuple[Sustained, ...] = ()
    load_average: float = 0.0
    frozen: bool = True


class PhasesMs(msgspec.Struct, frozen=True, kw_only=True):
    """Medians over launches. A struct, because ``import`` is a Python keyword and must be renamed."""

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
    fps: float | None = None
    sustained_fps: float | None = None
    launch_spread: float | None = None
    speedup: Speedup | None = None
    output_error: OutputError | None = None
    phases_ms: PhasesMs | None = None
    peak_memory_bytes: Mapping[str, int] | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Winner:
    """The fastest cell against its nearest rival, adjusted for having been chosen as the best."""

    cell: str
    rival: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class GroupResult:
    """One table."""

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
