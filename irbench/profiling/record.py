"""What a profile saw: the stored document, from which every figure is derived.

Durations are integers in nanoseconds. Format history:

1. The first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irbench.notices import Reference, Warn
from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.counter_record import ProfileCounters
from irbench.record import Failure, OutputError
from irbench.roofline import MachinePeaks
from irbench.row import CellHead, LaunchesStop, TableHead
from irbench.spec import Scalar
from irbench.spi.profiling import TensorShape

PROFILE_VERSION = 1
PROFILE_STOPPED_TEXTS: Mapping[LaunchesStop, str] = {
    "launches": "",
    "budget": "The budget ended it: a larger --budget has more launches.",
    "interrupt": "Interrupted: these are the results until then.",
    "failures": "",
    "unfinished": "Unfinished: these are the results until then.",
}


@dataclass(frozen=True)
class GraphNode:
    """A node of an ONNX graph.

    Attributes:
        name: Unique in its graph.
        op_type: Its operator.
        domain: Its operator set; empty for ONNX's own.
        operator_class: To which class of work it belongs.
        inputs: Names of the tensors that it reads.
        outputs: Names of the tensors that it computes.
        shapes: Of its outputs, as far as they are known.
        flops: Floating-point operations of one inference; ``None`` where they are unknown.
        original: Names of the exported nodes that it stands for, in an optimised graph; itself where there are none.
    """

    name: str
    op_type: str
    domain: str
    operator_class: OperatorClass
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    shapes: tuple[TensorShape, ...] = ()
    flops: int | None = None
    original: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperatorProfile:
    """An operator that a runtime executes, over all launches.

    Attributes:
        name: The runtime's own name of it.
        kind: The runtime's own operator type.
        nodes: Names of the nodes that it computes, as far as the runtime tells.
        device: Where it ran.
        implementation: The kernel that was chosen.
        shapes: Of its outputs, where the runtime tells.
        is_overhead: Whether this is the runtime's own work, and computes no node.
        executions: How often it was executed in an inference.
        duration_ns: Of each launch, the time that all its executions in an inference took: the mean over those
            inferences that count.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    device: str
    implementation: str
    shapes: tuple[TensorShape, ...]
    is_overhead: bool
    executions: int
    duration_ns: tuple[int, ...]


@dataclass(frozen=True)
class TimelineSpan:
    """One execution of an operator in the inference that is drawn.

    Attributes:
        operator: Place of the operator in its cell.
        start_ns: Since the inference's first operator; ``None`` where the runtime tells none.
        duration_ns: How long it took.
        thread: Number of the thread or queue; ``None`` where the runtime does not tell.
    """

    operator: int
    start_ns: int | None
    duration_ns: int
    thread: int | None


@dataclass(frozen=True)
class Disturbance:
    """What else happened on the machine during a launch, with the compilation and the calls without profiling.

    Attributes:
        wall_ns: How long the launch took.
        foreign_cpu_ns: CPU time that processes outside irbench's own tree used on the measured processors.
        processors: How many processors the cell uses.
    """

    wall_ns: int
    foreign_cpu_ns: int
    processors: int


@dataclass(frozen=True)
class GpuTimes:
    """Where the time of a launch's inferences on a GPU went, in nanoseconds: means over those that count.

    The latency less kernels and copies is the time in which the GPU waited for the host.

    Attributes:
        copy_in_ns: Copies to the GPU: those of the inputs, and those that the GPU made while the inference ran, where
            the runtime tells them.
        copy_out_ns: Copies from the GPU, likewise.
        kernels_ns: Time in which the GPU ran kernels and copied nothing; ``None`` where the runtime records none.
        rounding_ns: By how much the kernels may be too short, because the runtime's figures are cut off.
        issuing_ns: Time that the host took to hand over the work of an inference; ``None`` where that is unknown.
        on_cpu_ns: Time of operators that ran on the CPU.
    """

    copy_in_ns: int
    copy_out_ns: int
    kernels_ns: int | None = None
    rounding_ns: int = 0
    issuing_ns: int | None = None
    on_cpu_ns: int = 0


@dataclass(frozen=True)
class LaunchLatencies:
    """Latencies of one launch, issue to completion, of each call.

    Attributes:
        launch: Its number, counted from 0.
        profiled_ns: Of the calls that were profiled.
        plain_ns: Of calls of a session without profiling, before and after those.
        counted: Places of the profiled calls that count: the middle half by latency, or all where the runtime tells
            only the mean of all.
        uncertainty_ns: By how much the time of each operator may be off, because the runtime's figures are rounded.
        disturbance: What else happened on the machine; ``None`` where nothing was recorded.
        gpu: Where the time went on a GPU; ``None`` on the CPU.
    """

    launch: int
    profiled_ns: tuple[int, ...]
    plain_ns: tuple[int, ...]
    counted: tuple[int, ...]
    uncertainty_ns: int = 0
    disturbance: Disturbance | None = None
    gpu: GpuTimes | None = None


@dataclass(frozen=True, kw_only=True)
class ProfiledCell(CellHead):
    """What was profiled of a backend with its settings.

    Attributes:
        level: The level of optimisation; ``none`` for the graph as it was exported.
        graph: Key of the graph that its operators are joined with; empty where there is none.
        effective: What the runtime reported of the profiled session.
        operators: In the order in which they were first executed.
        launches: Its latencies; durations of operators are in the same order.
        timeline: The inference of the first launch whose latency is the median.
        failure: Why there are no figures, or no more of them.
        output_error: How far its outputs are from the reference.
    """

    level: str = ""
    graph: str = ""
    effective: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    operators: tuple[OperatorProfile, ...] = ()
    launches: tuple[LaunchLatencies, ...] = ()
    timeline: tuple[TimelineSpan, ...] = ()
    failure: Failure | None = None
    output_error: OutputError | None = None


@dataclass(frozen=True, kw_only=True)
class ProfileDocument(TableHead):
    """A whole profile.

    Attributes:
        profile_version: Format of the document.
        profile_id: Its ULID.
        created: When it began, ISO 8601, UTC.
        irbench_version: Which irbench wrote it.
        inferences: Profiled inferences of each launch.
        launches: How many launches were asked for.
        environment: The machine and its software.
        plan: What was asked for, as run documents have it.
        graphs: ONNX graphs that operators are joined with, by key; the graph as it was exported is ``none``.
        cells: In the order in which they were asked for.
        compared: The two levels of ``--compare``; empty where none were compared.
        stopped_by: Why no further launch was made.
        seconds: How long it took.
        kinds: The class of operators that compute no node, by backend, then by the runtime's own operator type.
        warnings: What speaks against the figures.
        verified_against: Where the expected outputs came from; ``None`` where nothing could be checked.
        peaks: What was known of the machine's peaks, without raw times; ``None`` where nothing was.
        counters: What counters saw of each class of work, in launches of their own; ``None`` without ``--counters``.
    """

    profile_version: int
    profile_id: str
    created: str
    irbench_version: str
    inferences: int
    launches: int
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    plan: Mapping[str, Any] = field(default_factory=dict[str, Any])
    graphs: Mapping[str, tuple[GraphNode, ...]] = field(default_factory=dict[str, tuple[GraphNode, ...]])
    cells: tuple[ProfiledCell, ...] = ()
    compared: tuple[str, ...] = ()
    stopped_by: LaunchesStop = "unfinished"
    seconds: float = 0.0
    kinds: Mapping[str, Mapping[str, OperatorClass]] = field(default_factory=dict[str, Mapping[str, OperatorClass]])
    warnings: tuple[Warn, ...] = ()
    verified_against: Reference | None = None
    peaks: MachinePeaks | None = None
    counters: ProfileCounters | None = None
