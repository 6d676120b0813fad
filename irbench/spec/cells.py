"""What is compared: a load, the cell that is driven by it, and the group of cells that answer the same question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from irbench.core.address import BackendAddress
from irbench.spec.feeding import Feeding
from irbench.spec.models import Artifact, Bundle
from irbench.spec.neighbours import Neighbour
from irbench.spec.serving import ServiceLevel
from irbench.spec.tensors import BATCH


@dataclass(frozen=True)
class PythonEnvironment:
    """Where the worker of a cell finds its runtime.

    Attributes:
        key: Unique in a run; part of the ids of its cells.
        label: What tables call it after the backend, its runtime's version for example: ``1.22.0``.
        python: Its interpreter; ``None`` for the one that irbench runs in.
        requirement: What irbench built it from; empty where the user brought it.
        runtime: The distribution of the runtime.
        python_version: Of its interpreter.
        distributions: Versions of the runtime and of what irbench's workers need, by name.
        indexes: Addresses of the package indexes that irbench built it from; empty where the user brought it.
    """

    key: str
    label: str
    python: str | None
    requirement: str = ""
    runtime: str = ""
    python_version: str = ""
    distributions: Mapping[str, str] = field(default_factory=dict[str, str])
    indexes: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The runtime's version; empty where it is not known."""
        return self.distributions.get(self.runtime, "")


@dataclass(frozen=True)
class Program:
    """What runs a row that no backend runs.

    Attributes:
        kind: ``callable``: a function of Python, or stages, that the row's process imports, and irbench times.
            ``command``: a program that the row's process starts, and that times itself. ``server``: a model server that
            runs already.
        target: ``package.module:name`` or ``path/to/file.py:name``; a command line as a shell takes it; or the address
            of a model, ``http://host:port/v2/models/NAME``.
    """

    kind: Literal["callable", "command", "server"]
    target: str


Bound = Literal["at-least", "at-most"]


@dataclass(frozen=True)
class AccuracyLimit:
    """How good answers must be for a row to be measured.

    Attributes:
        limit: The least, or the largest, value that is allowed.
        bound: Which of the two it is.
        function: The user's own measure, ``module:function`` or ``path/to/file.py:function``; empty for top-1
            agreement, the share of samples whose largest class is that of the reference.
        classes: Names of the outputs whose classes agree; empty for those that are known to hold scores of classes.
    """

    limit: float
    bound: Bound = "at-least"
    function: str = ""
    classes: tuple[str, ...] = ()

    @property
    def function_name(self) -> str:
        """The user's function without the folders of its file."""
        return self.function.rpartition("/")[2]

    def allows(self, value: float) -> bool:
        """Whether a value keeps the limit."""
        return value >= self.limit if self.bound == "at-least" else value <= self.limit

    def is_better(self, value: float, other: float) -> bool:
        """Whether a value is better than another."""
        return value > other if self.bound == "at-least" else value < other


@dataclass(frozen=True)
class Accuracy:
    """How good the answers of a row are.

    Attributes:
        value: By the measure of the limit.
        limit: What was asked for.
        samples: How many samples it was computed from.
        max_rel: The largest error of an output relative to the reference, over all samples; null where outputs could
            not be compared with one.
        misses_tolerance: Whether that error is above the tolerance of the row's precision.
    """

    value: float
    limit: AccuracyLimit
    samples: int
    max_rel: float | None = None
    misses_tolerance: bool = False

    @property
    def is_within_limit(self) -> bool:
        """Whether it keeps the limit."""
        return self.limit.allows(self.value)


@dataclass(frozen=True)
class LossCheck:
    """Whether a model trains with the settings of a row: found out before steps are timed.

    Attributes:
        losses: Of each step, in order: values of ``metric``.
        first: The mean over the first steps.
        last: The mean over the last steps.
        reference: ``last`` of the row in fp32 with the same batch; ``None`` for that row itself.
        allowed: How far ``last`` may lie above ``reference``, as a fraction of what that fell by.
        metric: Which of those that the step reports.
    """

    losses: tuple[float, ...]
    first: float
    last: float
    reference: float | None = None
    allowed: float | None = None
    metric: str = "loss"

    @property
    def is_finite(self) -> bool:
        """Whether every loss is a number."""
        return all(map(math.isfinite, self.losses))


@dataclass(frozen=True)
class Roof:
    """The most that is attainable, and what limits it.

    Attributes:
        gflop_per_s: In 10^9 operations per second.
        bound: Whether arithmetic or the movement of data is the limit.
        level: The level of the memory hierarchy that data come from.
    """

    gflop_per_s: float
    bound: Literal["compute", "bandwidth"]
    level: str

    def share(self, gflop_per_s: float) -> float:
        """Return the share of the roof that was achieved, as a fraction.

        It is above 1 where peaks were measured too low, or fewer operations are done or bytes moved than were counted.
        """
        return gflop_per_s / self.gflop_per_s


@dataclass(frozen=True)
class InferenceWork:
    """What an inference of one batch takes.

    Attributes:
        operations: Arithmetic operations; a multiply-accumulate is two.
        moved_bytes: Bytes that have to be moved however well operators are fused: weights, inputs and outputs, once.
        roofs: What the machine attains at most with the threads of the row, by the precision that it computes in; a
            precision that was not measured is missing.
        peaks_measured: When the peaks were that the roofs follow from, ISO 8601, UTC.
        peaks_version: Version of the row's backend that the peaks were measured with; empty where it was not among
            those that were measured, ``None`` where that is unknown or it could not be.
    """

    operations: int
    moved_bytes: int
    roofs: Mapping[str, Roof] = field(default_factory=dict[str, Roof])
    peaks_measured: str | None = None
    peaks_version: str | None = None


Objective = Literal["latency", "fps", "cost"]
AskedObjective = Literal[Objective, "tokens/s"]
"""What may be asked for: the most tokens per second are the most texts per second, as all rows generate as many."""
Precision = Literal["fp32", "bf16", "fp16", "int8", "native"]
Io = Literal["copy", "bound"]
IO_TEXTS: Mapping[Io, str] = {"copy": "copies included", "bound": "copies excluded"}
"""What ``--io`` means."""

AGAIN = "-again"
"""How the id of a cell ends that is measured against one just like it, to see whether they can be told apart."""


@dataclass(frozen=True)
class Load:
    """How one cell is driven.

    Attributes:
        batch: Samples per inference.
        threads: Total for each process; ``None`` leaves it to the runtime (``native``).
        streams: Inferences that each process keeps in flight.
        precision: The precision the runtime must compute in.
        cpus: The processors the worker may use; ``None`` for all that are allowed.
        options: Backend properties by name, as the user gave them (``--set``).
        precision_required: Whether a session that computes in another precision is refused. It is not where nobody
            asked for one and the graph holds another than fp32: it is run as it is, and its row shows what it became.
        instances: Processes that run the model side by side, each pinned to its own share of ``cpus``.
        varied: Those of ``options`` in which rows of one table differ (``--vary``).
        require_full: Whether a session is refused of which some node runs on another device than was asked for.
        beside: What runs at the same time; ``None`` for nothing.
    """

    batch: int = 1
    threads: int | None = 1
    streams: int = 1
    precision: Precision = "fp32"
    cpus: tuple[int, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    precision_required: bool = True
    instances: int = 1
    varied: Mapping[str, str] = field(default_factory=dict[str, str])
    require_full: bool = False
    beside: Neighbour | None = None

    @property
    def concurrency(self) -> int:
        """How many inferences all processes together keep in flight."""
        return self.instances * self.streams

    @property
    def all_threads(self) -> int | None:
        """Threads of all processes together; ``None`` where the runtime chooses them."""
        return None if self.threads is None else self.instances * self.threads


@dataclass(frozen=True)
class Cell:
    """One row of a comparison: an artifact on a backend's device under a load.

    Attributes:
        id: Unique in its group.
        artifact: What is compiled, its tensors with bound shapes; ``None`` where there is none.
        backend: The backend's name; what the user calls the row where a program runs it.
        device: One of its devices.
        load: How it is driven.
        io: What is timed.
        dynamic: Whether the artifact's file leaves dimensions dynamic that could be bound.
        workload: Place of what it runs among the workloads of its group.
        environment: The Python whose runtime is measured; ``None`` for the one that irbench runs in.
        program: The user's own code that runs it; ``None`` for a backend.
        accuracy: How good its answers are by the user's measure; ``None`` where no limit was given, or where it could
            not be computed.
        work: What an inference takes; ``None`` where no peak of the machine is known, or the work cannot be counted.
        shared_session: The id of a cell of its group whose session runs it too; empty where it has one of its own.
        loss: How the loss went before training steps are timed; ``None`` for anything else.
    """

    id: str
    artifact: Artifact | None
    backend: str
    device: str
    load: Load
    io: Io = "copy"
    dynamic: bool = False
    workload: int = 0
    environment: PythonEnvironment | None = None
    program: Program | None = None
    accuracy: Accuracy | None = None
    work: InferenceWork | None = None
    shared_session: str = ""
    loss: LossCheck | None = None

    @property
    def address(self) -> BackendAddress:
        """The backend with its device."""
        return BackendAddress(self.backend, self.device)

    @property
    def session(self) -> str:
        """The id of the cell whose session runs it: cells that differ in what runs beside them share one."""
        return self.shared_session or self.id

    @property
    def python(self) -> str | None:
        """The interpreter of its worker; ``None`` for the one that irbench runs in."""
        return self.environment.python if self.environment is not None else None

    @property
    def label(self) -> str:
        """How tables name it.

        ``ort``, ``ort:cuda``, ``ort+basic``, ``ort dynamic``; ``openvino 2x1`` for two instances of one thread each;
        ``openvino x4`` for four streams; ``ort 1.22.0`` in another Python; ``ort KEY=0`` where an option is varied;
        ``ort again``; ``ort beside bandwidth 50%``.
        """
        name = str(self.address)
        if self.artifact is not None and self.artifact.variant:
            name = f"{name}+{self.artifact.variant}"
        name = f"{name} dynamic" if self.dynamic else name
        name = f"{name} {self.environment.label}" if self.environment is not None else name
        name = name if self.load.instances == 1 else f"{name} {self.load.instances}x{self.load.threads or 'native'}"
        name = name if self.load.streams == 1 else f"{name} x{self.load.streams}"
        name = " ".join((name, *(f"{key}={value}" for key, value in self.load.varied.items())))
        name = name if self.load.beside is None else f"{name} beside {self.load.beside.label}"
        return f"{name} again" if self.id.endswith(AGAIN) else name


@dataclass(frozen=True)
class Workload:
    """A model at one size, with its inputs.

    Attributes:
        bundle: The model.
        sizes: Every dynamic dimension bound, ``batch`` included.
        feeding: Its inputs.
        other_sizes: Sizes of all dynamic dimensions that sessions with dynamic shapes meet before these.
    """

    bundle: Bundle
    sizes: Mapping[str, int]
    feeding: Feeding = field(default_factory=Feeding)
    other_sizes: tuple[Mapping[str, int], ...] = ()

    @property
    def batch(self) -> int:
        """Samples per inference."""
        return self.sizes[BATCH]


@dataclass(frozen=True)
class Goal:
    """What the best row is the best in.

    Attributes:
        objective: What rows are compared by: the median latency of a call, frames per second, or processor time per
            sample.
        max_latency_ms: The largest p90 latency with which a row may be called the best; ``None`` for any.
        level: The service level that this limit follows from; ``None`` where it was asked for as such.
    """

    objective: Objective
    max_latency_ms: float | None = None
    level: ServiceLevel | None = None


@dataclass(frozen=True)
class Group:
    """Cells that answer the same question and are therefore compared.

    Attributes:
        workloads: What they run, at least one: one model at several batches, or several models with equal inputs.
        cells: What is compared; ids are unique.
        baseline: The id of the cell that speedups are relative to.
        goal: What was asked for; ``None`` where nothing was.
    """

    workloads: tuple[Workload, ...]
    cells: tuple[Cell, ...]
    baseline: str
    goal: Goal | None = None

    def workload_of(self, cell: Cell) -> Workload:
        """Return what a cell runs."""
        return self.workloads[cell.workload]

    @property
    def main(self) -> Workload:
        """The workload of the baseline, which the group is named after."""
        return self.workloads[next((cell.workload for cell in self.cells if cell.id == self.baseline), 0)]

    @property
    def feeds(self) -> int:
        """How many feeds take turns, as many for every workload."""
        return self.main.feeding.count

    @property
    def objective(self) -> Objective:
        """What cells are compared by; see :func:`objective_of`."""
        loads = [cell.load for cell in self.cells]
        concurrent = any(load.concurrency > 1 for load in loads)
        return objective_of(self.goal, concurrent=concurrent, batches=(load.batch for load in loads))


def asked_objective(word: AskedObjective) -> Objective:
    """Return what rows are compared by where a user asks for it."""
    return "fps" if word == "tokens/s" else word


def objective_of(goal: Goal | None, *, concurrent: bool, batches: Iterable[int]) -> Objective:
    """Return what rows are compared by: what was asked for; else FPS where calls are concurrent or batches differ."""
    if goal is not None:
        return goal.objective
    return "fps" if concurrent or len(set(batches)) > 1 else "latency"
