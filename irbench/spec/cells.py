"""What is compared: a load, the cell that is driven by it, and the group of cells that answer the same question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from irbench.address import BackendAddress
from irbench.spec.feeding import Feeding
from irbench.spec.models import Artifact, Bundle
from irbench.spec.programs import Program

__all__ = ["AGAIN", "Cell", "Group", "Io", "Load", "Precision"]

Precision = Literal["fp32", "bf16", "fp16", "int8", "native"]
Io = Literal["copy", "bound"]

AGAIN = "-again"
"""How the id of a cell ends that is measured against one just like it, to see whether they can be told apart."""


@dataclass(frozen=True)
class Load:
    """How one cell is driven.

    Attributes:
        batch: Samples per inference.
        threads: Total for the process; ``None`` leaves it to the runtime (``native``).
        streams: Inferences kept in flight.
        precision: The precision the runtime must compute in.
        cpus: The processors the worker may use; ``None`` for all that are allowed.
        options: Backend properties by name, as the user gave them (``--set``).
        precision_required: Whether a session that computes in another precision is refused. It is not where nobody
            asked for one and the graph holds another than fp32: it is run as it is, and its row shows what it became.
    """

    batch: int = 1
    threads: int | None = 1
    streams: int = 1
    precision: Precision = "fp32"
    cpus: tuple[int, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    precision_required: bool = True


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
        program: The user's own code that runs it; ``None`` for a backend.
    """

    id: str
    artifact: Artifact | None
    backend: str
    device: str
    load: Load
    io: Io = "copy"
    dynamic: bool = False
    program: Program | None = None

    @property
    def address(self) -> BackendAddress:
        """The backend with its device."""
        return BackendAddress(self.backend, self.device)

    @property
    def label(self) -> str:
        """How tables name it: ``ort``, ``ort:cuda``, ``ort+basic``, ``ort dynamic``, ``openvino x4``, ``ort again``."""
        name = str(self.address)
        if self.artifact is not None and self.artifact.variant:
            name = f"{name}+{self.artifact.variant}"
        name = f"{name} dynamic" if self.dynamic else name
        name = name if self.load.streams == 1 else f"{name} x{self.load.streams}"
        return f"{name} again" if self.id.endswith(AGAIN) else name


@dataclass(frozen=True)
class Group:
    """Cells that answer the same question and are therefore compared.

    Attributes:
        bundle: The model all cells run.
        batch: Samples per inference, equal for all cells.
        sizes: Every free dimension bound, ``batch`` included.
        cells: What is compared; ids are unique.
        baseline: The id of the cell that speedups are relative to.
        feeding: The inputs, equal for all cells.
        other_sizes: Sizes of all dynamic dimensions that sessions with dynamic shapes meet before these.
    """

    bundle: Bundle
    batch: int
    sizes: Mapping[str, int]
    cells: tuple[Cell, ...]
    baseline: str
    feeding: Feeding = field(default_factory=Feeding)
    other_sizes: tuple[Mapping[str, int], ...] = ()

    @property
    def has_streams(self) -> bool:
        """Whether any cell keeps several inferences in flight, so that all are compared by time per completion."""
        return any(cell.load.streams > 1 for cell in self.cells)
