"""What is asked: tensors, artifacts, bundles, loads, cells and groups, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.address import BackendAddress

__all__ = [
    "AGAIN",
    "BATCH",
    "Artifact",
    "Bundle",
    "Cell",
    "Disagreement",
    "Group",
    "InputSpec",
    "Io",
    "Load",
    "Precision",
    "Scalar",
    "Shape",
    "TensorSpec",
    "Timing",
]

Scalar: TypeAlias = str | int | float | bool | None
Precision = Literal["fp32", "bf16", "fp16", "int8", "native"]
Io = Literal["copy", "bound"]
Shape: TypeAlias = tuple[int | str, ...]
"""A size per axis; a name stands for a size that is bound later."""

BATCH = "batch"
"""The name every exported artifact gives its free leading dimension."""

AGAIN = "-again"
"""How the id of a cell ends that is measured against one just like it, to see whether they can be told apart."""


@dataclass(frozen=True)
class TensorSpec:
    """Name, dtype and shape of one input or output.

    Attributes:
        name: The name inside the artifact.
        dtype: A NumPy dtype name such as ``float32`` or ``int64``.
        shape: Axis sizes; a string names a free dimension.
        permutation: Axes of the logical tensor in the artifact's order: the artifact
            receives ``logical.transpose(permutation)``. ``None`` where both agree.
    """

    name: str
    dtype: str
    shape: Shape
    permutation: tuple[int, ...] | None = None

    @property
    def dynamic_dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions that are still to be bound, in axis order."""
        return tuple(size for size in self.shape if isinstance(size, str))

    def bind(self, sizes: Mapping[str, int]) -> TensorSpec:
        """Return this spec with every free dimension named in ``sizes`` made concrete."""
        shape = tuple(sizes.get(size, size) if isinstance(size, str) else size for size in self.shape)
        return TensorSpec(self.name, self.dtype, shape, self.permutation)


@dataclass(frozen=True)
class InputSpec:
    """A logical input with the range its generated values are drawn from.

    Values are uniform in ``[low, high)``, integers too: a vocabulary of V tokens is ``low=0, high=V``.
    """

    tensor: TensorSpec
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Disagreement:
    """In what a converted graph falls short of the same graph in fp32.

    Attributes:
        measure: The share of answers with the same largest class, or the largest difference of an output relative to
            the largest output; ``stored-words`` in a document of format 1, which has neither value nor limit.
        value: What was measured.
        limit: The least agreement, or the largest difference, that passes.
        words: Those of a document of format 1.
    """

    measure: Literal["top1-agreement", "max-rel", "stored-words"]
    value: float | None = None
    limit: float | None = None
    words: str = ""


@dataclass(frozen=True)
class Artifact:
    """One file or folder that a backend can compile.

    Attributes:
        kind: What it is: ``onnx`` or ``tf-graph`` today.
        path: Where it lies. A relative path is relative to its bundle.
        inputs: Inputs in the artifact's own order, names and layout.
        outputs: Outputs in the artifact's own order.
        passes: Transformations that made it from the export, oldest first.
        variant: What the passes were asked for as, ``basic`` for example; empty for the export itself.
        domains: Operator sets of vendors from which passes took operators, ``com.microsoft`` for example.
        sha256: Digest of the file (for a folder: of its sorted files); empty when unknown.
        opset: ONNX operator set version of the default domain; ``None`` for other kinds.
        disagreement: In what a conversion of precision failed, if it did; rows show it and are not ranked.
    """

    kind: str
    path: Path
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    passes: tuple[str, ...] = ()
    sha256: str = ""
    opset: int | None = None
    variant: str = ""
    domains: tuple[str, ...] = ()
    disagreement: Disagreement | None = None

    @property
    def label(self) -> str:
        """How documents name it: its kind, then its variant."""
        return f"{self.kind}+{self.variant}" if self.variant else self.kind


@dataclass(frozen=True)
class Bundle:
    """One model in every form a backend may read, with what is needed to check its answers.

    Attributes:
        name: What tables call the model.
        inputs: Logical inputs, in the order in which feeds are generated.
        artifacts: The forms it comes in; at most one of each label.
        defaults: Sizes of free dimensions that are used unless the caller binds others.
        classifier: Whether top-1 agreement of the first output means something.
        seed: Seed of the generated inputs (and of random weights).
        workload: ``inference``.
        reference: File with the expected outputs; ``None`` where a reference backend computes them.
        source: What it was made from, as the user named it.
        versions: Versions of the tools that made it, by distribution name.
        details: Further facts from its making, such as the layout of images or the number of nodes.
    """

    name: str
    inputs: tuple[InputSpec, ...]
    artifacts: tuple[Artifact, ...]
    defaults: Mapping[str, int] = field(default_factory=dict[str, int])
    classifier: bool = False
    seed: int = 0
    workload: Literal["inference"] = "inference"
    reference: Path | None = None
    source: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    details: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])

    def artifact(self, kinds: tuple[str, ...]) -> Artifact | None:
        """Return the artifact of the first kind in ``kinds`` that the bundle holds, unoptimised form first."""
        for kind in kinds:
            for artifact in sorted(self.artifacts, key=lambda candidate: len(candidate.passes)):
                if artifact.kind == kind:
                    return artifact
        return None


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
    """

    batch: int = 1
    threads: int | None = 1
    streams: int = 1
    precision: Precision = "fp32"
    cpus: tuple[int, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Cell:
    """One row of a comparison: an artifact on a backend's device under a load."""

    id: str
    artifact: Artifact | None
    backend: str
    device: str
    load: Load
    io: Io = "copy"

    @property
    def address(self) -> BackendAddress:
        """The backend with its device."""
        return BackendAddress(self.backend, self.device)

    @property
    def label(self) -> str:
        """How tables name it: ``ort``, ``ort:cuda``, ``ort+basic``, ``openvino x4``, ``ort again``."""
        name = str(self.address)
        if self.artifact is not None and self.artifact.variant:
            name = f"{name}+{self.artifact.variant}"
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
    """

    bundle: Bundle
    batch: int
    sizes: Mapping[str, int]
    cells: tuple[Cell, ...]
    baseline: str

    @property
    def has_streams(self) -> bool:
        """Whether any cell keeps several inferences in flight, so that all are compared by time per completion."""
        return any(cell.load.streams > 1 for cell in self.cells)


@dataclass(frozen=True)
class Timing:
    """The protocol's numbers. Durations are in seconds unless the name says otherwise.

    Attributes:
        min_launches: Launches that every cell has, before there is an interval; afterwards the run may stop.
        max_launches: Launches after which the run stops whatever the interval.
        blocks: Clean blocks wanted in each launch, until two launches have shown what scatters.
        max_blocks: Blocks after which a launch of ``blocks`` ends however many are clean; others in proportion.
        min_blocks: Clean blocks below which a launch counts all of its blocks; also the fewest that a launch has.
        most_blocks: Clean blocks that a launch has at most.
        burn_in_blocks: The first blocks of a launch, which are recorded and not counted.
        target: Half-width at which the interval of the winner's lead is narrow enough, as a fraction of 1.
        within: Half-width of the band around 1 that is called the same.
        confidence: Of all intervals of a table together, whenever the run stops.
        budget: Wall time one group may take.
        sized_for: Wall time that one group's launches are sized for where that is less than ``budget``, down to the
            smallest launch there is; ``None`` sizes them for the budget.
        sustain: How long each cell also runs alone and uninterrupted in each launch; 0 leaves it out.
        tail: Whether each cell also runs alone in each launch for its tail percentiles.
        tail_calls: Calls of each cell in such a run; with fewer no tail percentile is given.
        warm_up: How long a cell runs before its first block, and for ``min_calls`` calls at least where there is time.
        min_calls: Timed samples that a round has at least, where there is time for them.
        round_seconds: How long a round at least lasts, in groups without streams.
        stream_round_seconds: How long it at least lasts where a cell of the group keeps several inferences in flight.
        settle: How long a cell runs untimed at the start of each round, after it was thawed; at most twice that.
        dirty_foreign_share: CPU time of other processes, as a fraction of a block's wall time on all the processors in
            use, above which it is dirty.
        dirty_run_queue: How far a round's share of time in the run queue may lie above what is usual for its cell in
            this launch, in fractions of the round's wall time, before the block is dirty; more where it scatters.
        deadline: How long a worker may take for one command, beyond what the command itself asks for.
    """

    min_launches: int = 4
    max_launches: int = 12
    blocks: int = 8
    max_blocks: int = 12
    min_blocks: int = 4
    most_blocks: int = 12
    burn_in_blocks: int = 1
    target: float = 0.01
    within: float = 0.02
    confidence: float = 0.95
    budget: float = 90.0
    sized_for: float | None = None
    sustain: float = 0.0
    tail: bool = False
    tail_calls: int = 1000
    warm_up: float = 0.3
    min_calls: int = 3
    round_seconds: float = 0.025
    stream_round_seconds: float = 0.05
    settle: float = 0.005
    dirty_foreign_share: float = 0.025
    dirty_run_queue: float = 0.05
    deadline: float = 300.0
