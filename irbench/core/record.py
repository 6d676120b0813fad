"""What one launch saw: raw rounds as integer nanoseconds, and the evidence of the kernel beside them.

These values are stored once and never changed; every figure is derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from irbench.spec import Scalar
from irbench.spec.serving import OfferedLoad

Stage: TypeAlias = Literal[
    "plan",
    "bind",
    "optimize",
    "accuracy",
    "start",
    "import",
    "compile",
    "device",
    "verify",
    "warm-up",
    "measure",
    "second answer",
    "tail",
    "run",
    "sustained run",
    "paced run",
    "serve",
    "precision",
]
"""What was going on when a row failed."""


@dataclass(frozen=True)
class Evidence:
    """What the kernel saw during a round, for the worker's own process unless named foreign.

    Attributes:
        wall_ns: Duration of the whole round: the settle calls, the timed window and the draining.
        cpu_ns: CPU time of all the worker's threads.
        run_queue_wait_ns: Time its threads were ready to run but did not; ``None`` where the kernel does not report it.
        voluntary_switches: Times a thread gave the processor up.
        involuntary_switches: Times a thread lost it.
        minor_faults: Page faults served from memory.
        major_faults: Page faults served from disk.
        foreign_cpu_ns: CPU time of processes outside irbench's own tree on the measured processors, from before the
            round until after it. It is counted in ticks: of a single round it may be off by one or two and even lie
            below 0, and it is meant for sums. ``None`` in older records, and where the kernel does not report it.
    """

    wall_ns: int
    cpu_ns: int
    run_queue_wait_ns: int | None
    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    foreign_cpu_ns: int | None = None


def ns_per_completion(completion_ns: NDArray[np.int64]) -> float:
    """Return the wall time of a timed window over what completed in it, in nanoseconds.

    The window opens and closes with a completion, and load is kept up throughout. A request that stalls counts in
    full, as it does for whoever waits for throughput; the median of the gaps between completions would not see it.

    Args:
        completion_ns: When each sample completed, from the opening of the window, ascending, int64.
    """
    return float(completion_ns[-1]) / completion_ns.size


@dataclass(frozen=True)
class NeighbourActivity:
    """What a neighbour did during some time, as it counted itself.

    Attributes:
        wall_ns: How long that was.
        cpu_ns: CPU time that it used, without what it took to wait.
        moved_bytes: Bytes that it read and wrote; ``None`` where nobody counts them.
        call_ns: How long each call of a model took that ended in this time, int64; empty for other neighbours.
    """

    wall_ns: int
    cpu_ns: int
    moved_bytes: int | None = None
    call_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


GpuLimit: TypeAlias = Literal[
    "idle",
    "application-clocks",
    "power-cap",
    "hardware-slowdown",
    "sync-boost",
    "software-thermal",
    "hardware-thermal",
    "power-brake",
    "display",
]
"""Why a GPU's clock is not higher, as NVML tells."""


@dataclass(frozen=True)
class GpuReading:
    """What NVML tells of the GPUs of rows at one moment; of several the slowest clock, and all of the rest together.

    Attributes:
        sm_mhz: Clock of the multiprocessors; ``None`` where NVML does not tell.
        power_mw: Power of the board; ``None`` likewise.
        limits: Why the clock is not higher.
        others: Processes that compute there and are not irbench's; ``None`` where it cannot be told who is whose, as
            in a container that sees other process ids.
    """

    sm_mhz: int | None
    power_mw: int | None
    limits: tuple[GpuLimit, ...] = ()
    others: int | None = None


@dataclass(frozen=True)
class Round:
    """One cell's turn in a block.

    Attributes:
        block: The block it belongs to, counted from 0 in its launch.
        issue_ns: When each call (or sample of ``calls_per_sample`` calls) was issued, int64, from the opening of
            the timed window. Negative for a streamed request that was already in flight then.
        completion_ns: When each completed, int64, ascending. The timed window lasts from 0 to the last of them,
            and load is kept up throughout, so FPS is batch x samples x calls_per_sample / ``completion_ns[-1]``.
        open_ns: When each request was issued that was in flight at the close of the window, int64; empty without
            streams, and in older records.
        part_ns: When each part of a call was complete after the call's begin, int64: all parts of the first call, then
            those of the next. Parts are the tokens of a generation and the stages of a pipeline; empty elsewhere.
        neighbour: What ran beside it did during the round; ``None`` where nothing did.
        gpu: What its GPU told just before the round and just after it; ``None`` on other devices, where NVML cannot be
            asked, and in older records.
    """

    block: int
    issue_ns: NDArray[np.int64]
    completion_ns: NDArray[np.int64]
    evidence: Evidence
    open_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    part_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    neighbour: NeighbourActivity | None = None
    gpu: tuple[GpuReading, GpuReading] | None = None

    @property
    def latency_ns(self) -> NDArray[np.int64]:
        """Issue to completion of each sample, int64."""
        return self.completion_ns - self.issue_ns


@dataclass(frozen=True)
class Failure:
    """Why a cell has no number.

    Attributes:
        stage: What its worker was asked for.
        message: Why, without the end of a sentence.
        hint: What helps, where somebody knows.
        budget_allowed_s: For how long the budget let it be waited for, where that ended it; ``None`` elsewhere.
    """

    stage: Stage
    message: str
    hint: str | None = None
    budget_allowed_s: float | None = None


@dataclass(frozen=True)
class OutputError:
    """How far outputs are from the reference, worst over all outputs.

    ``max_rel`` is max abs(a - b) / max abs(b), with a floor for the latter: :func:`irbench.core.output_check.compare`.
    ``top1_agreement`` is null unless the model is a classifier.
    """

    max_abs: float
    max_rel: float
    cosine: float
    top1_agreement: float | None


@dataclass(frozen=True)
class PacedRun:
    """Calls of one cell that were due at regular intervals, in the order in which they were due.

    Call ``i`` is due at ``i * pace_ns`` and goes to slot ``i % concurrency``. One that is due while its slot is busy is
    issued when the call before has ended.

    Attributes:
        pace_ns: From one call's due time to that of the next.
        concurrency: How many slots take turns.
        issue_ns: When each call was issued, int64, from the moment at which the first one was due.
    """

    pace_ns: int
    concurrency: int
    issue_ns: NDArray[np.int64]
    completion_ns: NDArray[np.int64]


REFUSED, GIVEN_UP = -1, -2
"""In place of the slot that answered a request: too many were waiting when it arrived, here or in a model server, or it
waited too long."""


@dataclass(frozen=True)
class ServerTimes:
    """What a model server says of its answers, all of them together.

    Attributes:
        answers: How many inferences it answered.
        queue_ns: How long they waited in it.
        compute_ns: How long it computed: inputs taken, the inference and outputs written.
    """

    answers: int
    queue_ns: int
    compute_ns: int


@dataclass(frozen=True)
class ServedLoad:
    """What became of the requests of one load, in the order in which they were due; int64 of one length.

    Attributes:
        offered: How they arrived.
        slots: How many calls were in flight at most.
        batch: Requests that one call answered at most.
        due_ns: When each arrived, in nanoseconds from the first moment, ascending.
        start_ns: When its call began; 0 without one.
        end_ns: When it was answered; 0 where it was not.
        slot: Which slot answered it, :data:`REFUSED` or :data:`GIVEN_UP`.
        timeout_ms: After how long one that waited was given up; ``None`` for never.
        server: What the model server counted meanwhile, others' inferences included; ``None`` where none answers, or it
            does not tell.
    """

    offered: OfferedLoad
    slots: int
    batch: int
    due_ns: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    slot: NDArray[np.int64]
    timeout_ms: float | None = None
    server: ServerTimes | None = None


@dataclass(frozen=True)
class WarmUp:
    """How one cell was warmed up before its first block.

    Attributes:
        calls: How many calls were made, those that settle included.
        judged: Whether they were enough to say when calls got no faster.
        steady_after: After how many calls that was; 0 where none was slower than the last ones; ``None`` where calls
            still got faster when the warm-up ended, and where it was not judged.
        slower: By how much the calls until then were slower than the last ones, as a fraction.
        refused: How many calls a model server refused, which were repeated; times with such a wait are not judged.
    """

    calls: int
    judged: bool
    steady_after: int | None
    slower: float
    refused: int = 0

    @property
    def ended_unsteady(self) -> bool:
        """Whether calls still got faster when it ended."""
        return self.judged and self.steady_after is None


@dataclass(frozen=True)
class CellLaunch:
    """Everything one cell measured in one launch.

    Attributes:
        calls_per_sample: Calls that one latency sample lasts; 1 unless calls are very short.
        rounds: One for each block, in order of blocks.
        phases_ns: Duration of ``import``, ``load``, ``compile``, ``first_inference`` and ``warm_up``; of ``new_shape``,
            the first call of the shape in a session that has met those of a sweep's other tables; and ``ready``:
            process start to first output, less the time it waited for its turn.
        peak_memory_bytes: Resident peak of each phase, by the phase's name; ``run`` is the peak since the warm-up and
            ``process`` that of the whole life; ``gpu`` what it took of the GPU's memory at most, where that is known.
        private_memory_bytes: Memory at the end of each phase that no other process shares; empty in older records, and
            where the kernel does not report it.
        output_error: How far its outputs are from the reference; ``None`` where this launch did not verify.
        tail_ns: Latencies of the uninterrupted calls of ``--tail``, int64; empty without it.
        repeat_error: How far its outputs are from the reference when the same inputs are given once more after the
            last block; ``None`` where this launch did not verify.
        paced: The calls of ``--pace``; ``None`` without it.
        warm_up: How it was warmed up; ``None`` in older records.
        stages: Names of the stages of each call, in order; empty where it has none.
        neighbour_alone: What its neighbour did before the first block while the model stood still; ``None`` without
            one.
        beginnings_ns: How long beginnings of a training step took on a batch in memory, int64, by what each adds to the
            one before; the last is the whole step. Empty for anything else.
        served: The loads of ``irbench serve``, in the order in which they were given; empty without it.
        token_memory_bytes: Of a generation, the resident memory of the process after each token of its first text,
            int64, without what verification keeps; of its first process. Empty for anything else.
    """

    cell: str
    streams: int
    calls_per_sample: int
    rounds: tuple[Round, ...]
    phases_ns: Mapping[str, int]
    peak_memory_bytes: Mapping[str, int]
    effective: Mapping[str, Scalar]
    output_error: OutputError | None = None
    tail_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    repeat_error: OutputError | None = None
    paced: PacedRun | None = None
    private_memory_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    warm_up: WarmUp | None = None
    stages: tuple[str, ...] = ()
    neighbour_alone: NeighbourActivity | None = None
    beginnings_ns: Mapping[str, NDArray[np.int64]] = field(default_factory=dict[str, NDArray[np.int64]])
    served: tuple[ServedLoad, ...] = ()
    token_memory_bytes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def worst_error(self) -> OutputError | None:
        """The larger of both output errors."""
        errors = [error for error in (self.output_error, self.repeat_error) if error is not None]
        return max(errors, key=lambda error: error.max_rel, default=None)


@dataclass(frozen=True)
class BlockEvidence:
    """What happened on the machine during one block.

    Attributes:
        block: Counted from 0 in its launch.
        order: Cell ids in the order in which they were run.
        wall_ns: Duration of the whole block.
        foreign_cpu_ns: CPU time that processes outside irbench's own tree used on the measured processors.
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
class EnergyReading:
    """The energy that the machine used between two moments, whatever ran on it.

    Attributes:
        wall_ns: From the one to the other.
        microjoules: By domain: ``package-0``, ``dram-0``, ``gpu-0``; without those that could not be read to the end.
    """

    wall_ns: int
    microjoules: Mapping[str, int]


@dataclass(frozen=True)
class Sustained:
    """One cell alone and uninterrupted: completions and the wall time they took.

    Attributes:
        completions: How many inferences completed.
        energy: From a little before until a little after, of the parts of the machine that count for the cell; ``None``
            without ``--energy``.
    """

    cell: str
    completions: int
    wall_ns: int
    energy: EnergyReading | None = None


@dataclass(frozen=True)
class LaunchRecord:
    """One launch of a group: the unit of replication, and what the store keeps in one file.

    Attributes:
        group: Which group of the run, counted from 0.
        launch: Counted from 0.
        cells: The cells that measured.
        failures: Why the others did not, by cell id.
        blocks: What happened on the machine, one for each block.
        sustained: What each cell completed alone and uninterrupted; empty where that was not asked for.
        idle_energy: While all workers were frozen, before these runs; ``None`` without ``--energy``.
        load_average: Of one minute, at the launch's end.
        frozen: Whether idle workers were really frozen.
        pressure: Share of the last 10 s in which some task of the machine waited for a processor, at the launch's end
            (0 to 1; ``some avg10`` of ``/proc/pressure/cpu``); ``None`` where the kernel does not report it.
        processors: How many processors the group used, of which other programs may take a share; a record without it
            is judged by as much as one of two.
    """

    group: int
    launch: int
    cells: tuple[CellLaunch, ...]
    failures: Mapping[str, Failure]
    blocks: tuple[BlockEvidence, ...]
    sustained: tuple[Sustained, ...] = ()
    load_average: float = 0.0
    frozen: bool = True
    pressure: float | None = None
    processors: int = 2
    idle_energy: EnergyReading | None = None
