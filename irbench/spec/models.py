"""Models in every form that a backend may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.spec.tensors import InputSpec, Scalar, TensorSpec

Layout: TypeAlias = Literal["keep", "nchw"]
"""Of image inputs: as the graph has it, or channels first."""
Quantize: TypeAlias = Literal["auto", "static", "dynamic"]
"""How a graph is quantised to int8."""
ConvertedPrecision: TypeAlias = Literal["fp16", "bf16", "int8"]
GraphPrecision: TypeAlias = Literal["fp32", ConvertedPrecision]
"""What an optimised graph holds: fp32 without a conversion."""


@dataclass(frozen=True)
class Disagreement:
    """In what a converted graph falls short of the same graph in fp32.

    Attributes:
        measure: The share of answers with the same largest class, or the largest difference of an output relative to
            the largest output.
        value: What was measured.
        limit: The least agreement, or the largest difference, that passes.
        samples: On how many inputs that was measured; ``None`` where that is not known.
        source: Whether these were generated, or samples of data; empty where that is not known.
    """

    measure: Literal["top1-agreement", "max-rel"]
    value: float | None = None
    limit: float | None = None
    samples: int | None = None
    source: Literal["", "generated", "data"] = ""


@dataclass(frozen=True)
class GraphFiles:
    """What a graph consists of on the disk, weights in files of their own included.

    Attributes:
        sha256: Digest of all files.
        size_bytes: Of all files together.
    """

    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Artifact:
    """One file or folder that a backend can compile.

    Attributes:
        kind: What it is: ``onnx``, or what another exporter calls its own form: ``tf-graph``, ``torch-export``.
        path: Where it lies. A relative path is relative to its bundle.
        inputs: Inputs in the artifact's own order, names and layout.
        outputs: Outputs in the artifact's own order.
        passes: Transformations that made it from the export, oldest first.
        variant: What the passes were asked for as, ``basic`` for example; empty for the export itself.
        domains: Operator sets of vendors from which passes took operators, ``com.microsoft`` for example.
        sha256: Digest of the file (for a folder: of its sorted files); empty when unknown.
        opset: ONNX operator set version of the default domain; ``None`` for other kinds.
        disagreement: In what a conversion of precision failed, if it did; rows show it and are not ranked.
        precision: The narrowest precision that an ONNX graph holds, ``int8`` for a quantised one; empty where nobody
            looked, as for other kinds.
        files: Of the exported or optimised graph, before shapes were bound; ``None`` where nobody looked.
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
    precision: str = ""
    files: GraphFiles | None = None

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
        classifier: Whether it declares that its answers are classes, so that a conversion is judged by them.
        class_axes: For each output the axis along which it holds scores of classes, ``None`` for one that holds none;
            empty where no output does. ``None`` as a whole where that is not known.
        seed: Seed of the generated inputs (and of random weights).
        workload: What one call does: an inference, or a training step.
        reference: File with the expected outputs; ``None`` where a reference backend computes them.
        source: What it was made from, as the user named it.
        versions: Versions of the tools that made it, by distribution name.
        details: Further facts from its making, such as the layout of images or the number of nodes.
        batch_axes: For each output of ``reference`` the axis that counts samples, with one or more rows of each;
            ``None`` where an output is the same for every batch. Empty where it is the first axis of all.
    """

    name: str
    inputs: tuple[InputSpec, ...]
    artifacts: tuple[Artifact, ...]
    defaults: Mapping[str, int] = field(default_factory=dict[str, int])
    classifier: bool = False
    class_axes: tuple[int | None, ...] | None = None
    seed: int = 0
    workload: Literal["inference", "training"] = "inference"
    reference: Path | None = None
    source: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    details: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    batch_axes: tuple[int | None, ...] = ()

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The outputs, as the ONNX graph names them where there is one."""
        return (self.artifact(("onnx",)) or self.artifacts[0]).outputs

    @property
    def known_class_axes(self) -> tuple[int | None, ...]:
        """As :attr:`class_axes`; empty where nothing is known, unless a classifier has a single output."""
        if self.class_axes is not None:
            return self.class_axes
        return (-1,) if self.classifier and len(self.outputs) == 1 else ()

    def names_of_classes(self, axes: Sequence[int | None]) -> tuple[str, ...]:
        """Return the names of outputs with an axis of classes; none for a single output, which needs no name."""
        named = tuple(spec.name for spec, axis in zip(self.outputs, axes, strict=False) if axis is not None)
        return named if len(self.outputs) > 1 else ()

    def artifact(self, kinds: tuple[str, ...]) -> Artifact | None:
        """Return the artifact of the first kind in ``kinds`` that the bundle holds, unoptimised form first."""
        for kind in kinds:
            for artifact in sorted(self.artifacts, key=lambda candidate: len(candidate.passes)):
                if artifact.kind == kind:
                    return artifact
        return None
