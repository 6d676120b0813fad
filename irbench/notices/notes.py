"""What else belongs below a table, and where its expected outputs came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Union

from irbench.core.quantities import error_size, listing, plural, ratio
from irbench.notices.absent_readings import ABSENCE_TEXTS, AbsenceReason
from irbench.notices.base import Context, ExampleFacts, Notice, RowId
from irbench.notices.conversions import NOT_FINITE, distribution_text
from irbench.spec import Distribution, Scalar

EnergySource: TypeAlias = Literal["processors", "gpus"]

_SOURCES: Mapping[EnergySource, str] = {"processors": "of the processors", "gpus": "of the GPUs"}


@dataclass(frozen=True)
class Reference:
    """Where the expected outputs of a table came from.

    Attributes:
        source: ``export`` for those of the original framework, kept at export; ``backend`` for those of a reference
            backend.
        name: The framework, or the reference backend.
        label: What the backend is called as a reference, by its own description; empty where it has none.
    """

    source: Literal["export", "backend"]
    name: str
    label: str = ""

    def text(self) -> str:
        """Return it in words: ``TensorFlow at export``, ``ort with optimisations off``."""
        return f"{self.name} at export" if self.source == "export" else self.label or f"the reference {self.name}"


def holder_text(process: int | None, since: str | None, what: str | None) -> str:
    """Return who measures, as the beginning of a sentence; ``None`` is what they have not written."""
    return "another irbench" if process is None else f"irbench (process {process}, since {since}: {what})"


class Note(Notice):
    """A note below a table."""

    known: ClassVar[list[type[Note]]] = []

    def text(self, context: Context) -> str:
        """Return it in words, without a full stop."""
        raise NotImplementedError


class NativePrecision(Note):
    code = "native-precision"
    says = "on this machine the backend's default precision is another than the measured one"

    backend: str
    precision: str
    measured: tuple[str, ...]
    example_facts: ClassVar[ExampleFacts] = {"backend": "openvino", "precision": "bf16", "measured": ("fp32",)}

    def text(self, context: Context) -> str:
        return (
            f"not measured: {self.backend}'s default precision here, {self.precision} (compare them with"
            f" `--precision {','.join((*self.measured, 'native'))}`)"
        )


class NoOperatorTimes(Note):
    code = "no-operator-times"
    says = "`irbench profile` without `--backends` leaves out backends that do not report how long operators take"

    backends: tuple[str, ...]
    example_facts: ClassVar[ExampleFacts] = {"backends": ("mine",)}

    def text(self, context: Context) -> str:
        verb = "does" if len(self.backends) == 1 else "do"
        return f"not profiled: {listing(self.backends)}, which {verb} not report operator times"


class Int8StaticChosen(Note):
    code = "int8-static-chosen"
    says = "`--optimize int8` leaves the method of quantisation open, and this backend leaves only one"

    backend: str
    asked: str
    chosen: str
    example_facts: ClassVar[ExampleFacts] = {
        "backend": "openvino",
        "asked": "basic-int8",
        "chosen": "basic-int8-static",
    }

    def text(self, context: Context) -> str:
        return f"{self.chosen} instead of {self.asked}: {self.backend} computes no dynamic int8 in integers"


class CalibratedOnGenerated(Note):
    code = "calibrated-on-generated"
    says = (
        "static int8 clips what lies outside the ranges of its calibration, which saw no real input"
        " ([what it costs](optimizing.md#what-it-costs))"
    )

    model: str
    variant: str
    ranges: Mapping[str, tuple[float, float]]
    drawn: Distribution
    max_rel: float
    worst: Distribution | None
    worst_max_rel: float | None
    example_facts: ClassVar[ExampleFacts] = {
        "model": "net",
        "variant": "basic-int8-static",
        "ranges": {"image": (0.0, 1.0)},
        "drawn": "declared",
        "max_rel": 0.02,
        "worst": "normal",
        "worst_max_rel": 0.54,
    }

    def text(self, context: Context) -> str:
        worst = ""
        if self.worst is not None:
            loss = NOT_FINITE if self.worst_max_rel is None else error_size(self.worst_max_rel)
            worst = f", {loss} where they are {distribution_text(self.worst, {})}"
        return (
            f"{self.model}+{self.variant} was calibrated on generated values of {listing(self.ranges)}"
            f" ({distribution_text(self.drawn, self.ranges)}): max err {error_size(self.max_rel)} on such inputs"
            f"{worst}. Calibrate on real inputs: --data"
        )


class IrVersionLowered(Note):
    code = "ir-version-lowered"
    says = "the file names a newer IR version than the runtime reads, and uses nothing that is new in it"

    cell: RowId
    ir_version: Scalar
    lowered_ir_version: Scalar
    example_facts: ClassVar[ExampleFacts] = {"cell": "ort", "ir_version": 14, "lowered_ir_version": 13}

    def text(self, context: Context) -> str:
        return (
            f"{context.name(self.cell)} cannot read IR version {self.ir_version}, although the graph needs none"
            f" later than {self.lowered_ir_version}: it was given {self.lowered_ir_version}"
        )


class TailRange(Note):
    code = "tail-range"
    says = "the lowest and the highest p99 of a launch"

    cell: RowId
    low_ms: float
    high_ms: float
    example_facts: ClassVar[ExampleFacts] = {"cell": "A", "low_ms": 40.1, "high_ms": 44.9}

    def text(self, context: Context) -> str:
        return f"p99 of {context.name(self.cell)} over launches: {self.low_ms:.3g} to {self.high_ms:.3g} ms"


class AccuracyOfRandomInputs(Note):
    code = "accuracy-of-random-inputs"
    says = "`--min-accuracy` or `--metric` without `--data`"

    samples: int
    example_facts: ClassVar[ExampleFacts] = {"samples": 32}

    def text(self, context: Context) -> str:
        return (
            f"accuracy was measured on {plural(self.samples, 'random input')}, which says little about real"
            " ones: use --data"
        )


class SamplesNotTimed(Note):
    code = "samples-not-timed"
    says = "the calls that fit into the time are fewer than the samples that take turns"

    timed: int
    samples: int
    example_facts: ClassVar[ExampleFacts] = {"timed": 84, "samples": 1000}

    def text(self, context: Context) -> str:
        return f"{self.timed} of {self.samples} samples were timed before the run ended"


class SlowerThanExported(Note):
    code = "slower-than-exported"
    says = "optimising made the graph slower on this backend; beside the baseline, the speedup of the row says so"

    cell: RowId
    exported: RowId
    value: float
    low: float
    high: float
    example_facts: ClassVar[ExampleFacts] = {
        "cell": "openvino+all",
        "exported": "openvino",
        "value": 0.94,
        "low": 0.92,
        "high": 0.97,
    }

    def text(self, context: Context) -> str:
        value, low, high = ratio(self.value, self.low, self.high)
        return (
            f"{context.name(self.cell)} is slower than the exported graph, {context.name(self.exported)}:"
            f" {value} [{low}, {high}]"
        )


class OwnGenerateFaster(Note):
    code = "own-generate-faster"
    says = (
        "a function of yours, such as the framework's own `generate()`, is faster than every decoder row, and why"
        " ([generation.md](generation.md#your-own-function))"
    )

    cell: RowId
    decoder: RowId
    value: float
    low: float
    high: float
    new_tokens: int
    copies_caches: bool
    """Whether every decoder row was given its caches as arrays in each call (``--io copy``)."""
    is_optimized: bool
    """Whether some decoder row ran an optimised graph."""
    example_facts: ClassVar[ExampleFacts] = {
        "cell": "keras-hub",
        "decoder": "ort",
        "value": 1.4,
        "low": 1.3,
        "high": 1.51,
        "new_tokens": 64,
        "copies_caches": True,
        "is_optimized": False,
    }

    def text(self, context: Context) -> str:
        value, low, high = ratio(self.value, self.low, self.high)
        copies = " and copies its KV cache in each call" if self.copies_caches else ""
        fixes = [
            *(["--optimize extended to fuse its attention"] if not self.is_optimized else []),
            *(["--io bound to keep its KV cache in the runtime"] if self.copies_caches else []),
        ]
        return (
            f"{context.name(self.cell)} is faster than {context.name(self.decoder)}, the fastest decoder row: {value}"
            f" [{low}, {high}]. irbench calls the decoder from Python {plural(self.new_tokens, 'time')} per"
            f" generation{copies}; a framework may run that loop inside its runtime"
            f"{'. Try ' + ' and '.join(fixes) if fixes else ''}"
        )


class OptimizeNotApplied(Note):
    code = "optimize-not-applied"
    says = "it does not read the model's ONNX file, so it has one row for all levels"

    backend: str
    artifact: str
    example_facts: ClassVar[ExampleFacts] = {"backend": "tf", "artifact": "tf-graph"}

    def text(self, context: Context) -> str:
        return f"{self.backend} does not read the model's ONNX file: `--optimize` does not apply to it"


class LayoutUnchanged(Note):
    code = "layout-unchanged"
    says = "a change of the layout to NCHW was requested, and the graph has nothing to change"

    model: str
    variant: str
    example_facts: ClassVar[ExampleFacts] = {"model": "resnet50", "variant": "basic-nchw"}

    def text(self, context: Context) -> str:
        return f"{self.model}+{self.variant}: the layout is unchanged, because no input feeds a Transpose to NCHW"


class GraphPartlyUnchecked(Note):
    code = "graph-partly-unchecked"
    says = (
        "no input of the [check](optimizing.md#how-a-pass-is-checked) leads into a branch or loop that passes may have"
        " rewritten"
    )

    model: str
    variant: str
    parts: int
    example_facts: ClassVar[ExampleFacts] = {"model": "decoder", "variant": "basic", "parts": 2}

    def text(self, context: Context) -> str:
        parts = plural(self.parts, "subgraph")
        return f"{self.model}+{self.variant}: {parts} not compared with the original (irbench optimize says which)"


class GraphFormRefused(Note):
    code = "graph-refused"
    says = (
        "a runtime refuses the graph with fixed shapes, so all rows that can run it with dynamic ones"
        " ([shapes.md](shapes.md#graphs-that-cannot-be-bound))"
    )

    backend: str
    refused: Literal["bound", "dynamic"]
    reason: str
    example_facts: ClassVar[ExampleFacts] = {"backend": "ort", "refused": "bound", "reason": "ShapeInferenceError"}

    def text(self, context: Context) -> str:
        if self.refused == "dynamic":
            return f"{self.backend} runs with fixed shapes: it fails with dynamic ones ({self.reason})"
        return f"dynamic shapes kept: {self.backend} fails with fixed ones ({self.reason})"


class GraphUnbound(Note):
    code = "graph-unbound"
    says = (
        "a graph cannot be optimised with fixed shapes, so it and all rows that can run dynamic ones"
        " ([shapes.md](shapes.md#graphs-that-cannot-be-bound))"
    )

    variant: str
    reason: str
    example_facts: ClassVar[ExampleFacts] = {"variant": "basic", "reason": "ShapeInferenceError"}

    def text(self, context: Context) -> str:
        return f"dynamic shapes kept: {self.variant} fails with fixed ones ({self.reason})"


class EnvironmentMeasured(Note):
    code = "python-environment"
    says = "`irbench ab` measured another Python's runtime; what else differs between the environments is named, too"

    label: str
    runtime: str
    version: str
    python_version: str
    python: str | None
    requirement: str
    indexes: tuple[str, ...]
    others: Mapping[str, str | None]
    example_facts: ClassVar[ExampleFacts] = {
        "label": "1.22.0",
        "runtime": "onnxruntime",
        "version": "1.22.0",
        "python_version": "3.12.4",
        "python": "/cache/irbench/environments/onnxruntime-1.22.0/bin/python",
        "requirement": "onnxruntime==1.22.0",
        "indexes": ("https://pypi.org/simple",),
        "others": {"numpy": "2.2.0"},
    }

    def text(self, context: Context) -> str:
        origin = "the environment of irbench" if self.python is None else self.python
        sources = " and ".join(self.indexes)
        built = f"built by irbench from {sources}" if sources else "built by irbench"
        others = [f"{name} {version or 'missing'}" for name, version in self.others.items()]
        runtime, python = f"{self.runtime} {self.version}", f"Python {self.python_version}"
        return f"{self.label}: {', '.join((runtime, python, *others, built if self.requirement else origin))}"


class AnotherIrbench(Note):
    """Its facts are those of :class:`irbench.measure.lock.Holder`."""

    code = "another-irbench"
    says = "two runs at the same time disturb each other"

    process: int | None
    since: str | None
    what: str | None
    example_facts: ClassVar[ExampleFacts] = {"process": None, "since": None, "what": None}

    def text(self, context: Context) -> str:
        return f"{holder_text(self.process, self.since, self.what)} was measuring at the same time (--no-lock)"


class BusyNeighbour(Note):
    code = "busy-neighbour"
    says = "the table shows how rows do beside a busy program: [the flip map](tuning.md#the-flip-map) of `irbench tune`"

    processors: tuple[int, ...]
    example_facts: ClassVar[ExampleFacts] = {"processors": (1,)}

    def text(self, context: Context) -> str:
        kept = f"{plural(len(self.processors), 'processor')} ({', '.join(map(str, self.processors))})"
        return f"a process of irbench kept {kept} busy while this was measured"


class StepsByThemselves(Note):
    code = "steps-by-themselves"
    says = (
        "`irbench train` of a model that was compiled with `steps_per_execution`: `model.fit` runs several steps in"
        " each call, and irbench times each step as a call of its own"
    )

    steps: int
    example_facts: ClassVar[ExampleFacts] = {"steps": 16}

    def text(self, context: Context) -> str:
        return f"each step is timed as a call of its own; model.fit runs {self.steps} in one call (steps_per_execution)"


class ChosenBackend(Note):
    code = "chosen-backend"
    says = "`irbench doctor --aa` without `--backend`"

    backend: str
    is_reference: bool
    example_facts: ClassVar[ExampleFacts] = {"backend": "ort", "is_reference": True}

    def text(self, context: Context) -> str:
        why = "a reference backend" if self.is_reference else "the first installed backend"
        return f"measured against itself: {self.backend}, {why} (choose another with --backend)"


class ChosenModel(Note):
    code = "chosen-model"
    says = "`irbench doctor --aa` without a model"

    model: str | None
    example_facts: ClassVar[ExampleFacts] = {"model": "resnet50"}

    def text(self, context: Context) -> str:
        if self.model is None:
            return "on a matrix product, because no model has been exported yet"
        return f"on {self.model}, the model exported last (choose another with --aa MODEL)"


class EnergyIncomplete(Note):
    code = "energy-incomplete"
    says = "with `--energy`, a part of the machine whose counters cannot be read ([energy.md](energy.md))"

    source: EnergySource
    reason: AbsenceReason
    example_facts: ClassVar[ExampleFacts] = {"source": "processors", "reason": "not-permitted"}

    def text(self, context: Context) -> str:
        return f"energy without that {_SOURCES[self.source]}: {ABSENCE_TEXTS[self.reason]}"


if TYPE_CHECKING:
    AnyNote: TypeAlias = Note
else:
    AnyNote: Any = Union[tuple(Note.known)]  # noqa: UP007 - of all that are declared above
"""What a field holds that any note may stand in, as documents are read."""
