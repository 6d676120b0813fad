"""What is compared: a load, the cell that is driven by it, and the group of cells that answer the same question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from irbench.address import BackendAddress
from irbench.spec.accuracy import Accuracy
from irbench.spec.feeding import Feeding
from irbench.spec.models import Artifact, Bundle
from irbench.spec.programs import Program
from irbench.spec.python_environments import PythonEnvironment
from irbench.spec.tensors import BATCH
from irbench.spec.work import InferenceWork

Objective = Literal["latency", "fps", "cost"]
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

    @property
    def address(self) -> BackendAddress:
        """The backend with its device."""
        return BackendAddress(self.backend, self.device)

    @property
    def python(self) -> str | None:
        """The interpreter of its worker; ``None`` for the one that irbench runs in."""
        return self.environment.python if self.environment is not None else None

    @property
    def label(self) -> str:
        """How tables name it.

        ``ort``, ``ort:cuda``, ``ort+basic``, ``ort dynamic``; ``openvino 2x1`` for two instances of one thread each;
        ``openvino x4`` for four streams; ``ort 1.22.0`` in another Python; ``ort KEY=0`` where an option is varied;
        ``ort again``.
        """
        name = str(self.address)
        if self.artifact is not None and self.artifact.variant:
            name = f"{name}+{self.artifact.variant}"
        name = f"{name} dynamic" if self.dynamic else name
        name = f"{name} {self.environment.label}" if self.environment is not None else name
        name = name if self.load.instances == 1 else f"{name} {self.load.instances}x{self.load.threads or 'native'}"
        name = name if self.load.streams == 1 else f"{name} x{self.load.streams}"
        name = " ".join((name, *(f"{key}={value}" for key, value in self.load.varied.items())))
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
    """

    objective: Objective
    max_latency_ms: float | None = None


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


def objective_of(goal: Goal | None, *, concurrent: bool, batches: Iterable[int]) -> Objective:
    """Return what rows are compared by: what was asked for; else FPS where calls are concurrent or batches differ."""
    if goal is not None:
        return goal.objective
    return "fps" if concurrent or len(set(batches)) > 1 else "latency"
