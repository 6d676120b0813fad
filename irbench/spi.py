"""What a backend, model or exporter author reads: the whole seam between irbench and a runtime.

A backend compiles and runs. It never times, warms up, loops, prints or decides;
the harness does all of that, in the same way for every runtime. Protocols rather
than base classes are used so that a plugin needs to import nothing at run time and
inherits no behaviour; annotate the instance (``cpu: Backend = MyBackend()``) and the
type checker checks that it conforms.

Entry points find the parts:

=====================  ==========================================================
group                  names an object of type
=====================  ==========================================================
``irbench.backends``   :class:`Backend`
``irbench.references`` :class:`Backend` whose answers may be trusted as expected
``irbench.models``     :class:`ModelSource`
``irbench.exporters``  :class:`Exporter`
``irbench.passes``     :class:`Pass`
``irbench.quantizers`` :class:`Quantizer`
=====================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from irbench.spec import Artifact, Bundle, InputSpec, Io, Load, Scalar

if TYPE_CHECKING:
    import onnx_ir as ir
    from numpy.typing import NDArray  # listing backends and models takes a third less time without it

__all__ = [
    "Array",
    "AsyncSlot",
    "Availability",
    "Backend",
    "Description",
    "ExportRequest",
    "Exporter",
    "ExporterDescription",
    "Feed",
    "ModelSource",
    "Outputs",
    "Pass",
    "Phases",
    "QuantizationMethod",
    "QuantizationRequest",
    "Quantizer",
    "Refusal",
    "Session",
    "Slot",
]

Array: TypeAlias = "NDArray[Any]"
"""One host array, of any dtype and shape."""
Feed: TypeAlias = tuple[Array, ...]
"""One host array per input, in the order and layout of ``artifact.inputs``, C-contiguous; 64-byte aligned if timed."""
Outputs: TypeAlias = Sequence[Array]
"""One host array per output, in the order of ``artifact.outputs``."""
Phases: TypeAlias = Callable[[Literal["load", "compile"]], AbstractContextManager[None]]
"""Opens the evidence around a phase: ``with phases("load"): ...``."""


QuantizationMethod: TypeAlias = Literal["static", "dynamic"]
"""``static`` calibrates the range of each activation beforehand; ``dynamic`` finds it while the graph runs."""


class Refusal(Exception):
    """A backend's polite no: what was asked cannot be done here, and this is what can.

    Raised from ``compile`` or ``open_slots``; shown in the cell's row instead of a number.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Description:
    """What is known about a backend without importing its runtime.

    Attributes:
        name: The backend's name.
        distribution: The distribution that carries the runtime, ``onnxruntime`` for example.
        version: Its version; ``None`` when it is not installed.
        devices: Devices the backend can address, ``cpu`` first.
        install: The exact command that installs what is missing.
        domains: Operator sets of vendors that it reads besides ONNX's own, ``com.microsoft`` for example.
        options: Keys that ``--set`` may give it, on any device, so that a mistyped one is found before a worker starts;
            ``None`` where only the runtime knows them.
        reserved: Keys that irbench sets itself, each with the argument it follows: ``--threads`` for example.
        is_original: Whether it runs models in the framework that they were made with; its row is the usual baseline.
        reference_rank: References answer in the order of their ranks, the lowest first, then by name: a quick one has a
            low rank. Without meaning for a backend that is no reference.
        reference_name: What tables call its answers as a reference; ``the reference`` and its name unless given.
    """

    name: str
    distribution: str
    version: str | None
    devices: tuple[str, ...] = ("cpu",)
    install: str = ""
    domains: tuple[str, ...] = ()
    options: tuple[str, ...] | None = None
    reserved: Mapping[str, str] = field(default_factory=dict[str, str])
    is_original: bool = False
    reference_rank: int = 100
    reference_name: str = ""


@dataclass(frozen=True)
class Availability:
    """What a backend found when it looked, inside a worker, at this machine.

    Attributes:
        devices: Devices that are really here.
        precisions: Precisions the runtime really computes in, by device.
        native: What the vendor's default precision turns out to be, by device.
        details: Further facts, such as the build's providers.
    """

    devices: tuple[str, ...]
    precisions: Mapping[str, tuple[str, ...]]
    native: Mapping[str, str]
    details: Mapping[str, Scalar]


class Slot(Protocol):
    """Room for one inference at a time. Slots of one session may be used concurrently."""

    def stage(self, feed: Feed, /) -> None:
        """Bring host arrays to where the runtime reads them."""
        ...

    def run(self) -> None:
        """Run one inference; it is complete, device synchronised, on return."""
        ...

    def fetch(self) -> Outputs:
        """Return host arrays that stay valid after the next run."""
        ...


@runtime_checkable
class AsyncSlot(Slot, Protocol):
    """A slot of a runtime that queues requests itself."""

    def start(self, done: Callable[[BaseException | None], None], /) -> None:
        """Start the staged inference; ``done`` is called from any thread when it ends."""
        ...


class Session(Protocol):
    """One compiled model in one process. It never looks at a clock."""

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the runtime really uses, read back from it.

        Always ``precision``, ``threads``, ``streams`` and ``device``; whatever else is worth knowing.
        ``threads`` is ``None`` only where the runtime does not tell.
        """
        ...

    def open_slots(self, count: int, io: Io, /) -> Sequence[Slot]:
        """Return ``count`` slots. With ``io="bound"`` inputs and outputs live where the runtime wants them."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class Backend(Protocol):
    """One runtime on its devices."""

    @property
    def name(self) -> str:
        """The name used on the command line."""
        ...

    @property
    def consumes(self) -> tuple[str, ...]:
        """Artifact kinds it reads, best first."""
        ...

    def describe(self) -> Description:
        """Say what is installed from metadata alone; imports no runtime."""
        ...

    def probe(self) -> Availability:
        """Look at the machine through the runtime. Runs in a worker."""
        ...

    def import_runtime(self, load: Load, device: str, /) -> None:
        """Import the runtime, with the environment that ``load`` and ``device`` need set before.

        Called once in a fresh worker before :meth:`compile`, so that the harness can time imports apart and let
        those of several workers run side by side. Nothing else of the runtime's is touched.

        Raises:
            Refusal: What was asked is impossible, and that can be said without compiling.
        """
        ...

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> Session:
        """Make a session that runs ``artifact`` as ``load`` asks on ``device``.

        :meth:`import_runtime` was called with the same arguments. Every dynamic dimension of ``artifact`` is bound.

        Raises:
            Refusal: The runtime cannot do what was asked.
        """
        ...


@dataclass(frozen=True)
class ModelSource:
    """A model the zoo can build. The module that names it imports no framework.

    Attributes:
        name: The name used on the command line.
        family: What kind of network it is, ``residual CNN`` for example.
        summary: One line for listings.
        inputs: Logical inputs with named dynamic dimensions and value ranges.
        build: Makes the framework's model (a ``keras.Model``), unseeded.
        defaults: Sizes of dynamic dimensions other than the batch.
        classifier: Whether its first output holds class scores.
        parameters: Weights that training finds, and the statistics it keeps; ``None`` where nobody counted.
        macs: Multiply-accumulate operations of its products and convolutions at batch 1 and ``defaults``; ``None``
            where nobody counted.
    """

    name: str
    family: str
    summary: str
    inputs: tuple[InputSpec, ...]
    build: Callable[[], Any]
    defaults: Mapping[str, int]
    classifier: bool = True
    parameters: int | None = None
    macs: int | None = None


@dataclass(frozen=True)
class ExportRequest:
    """Everything an exporter needs to make a bundle.

    Attributes:
        source: A zoo name, a ``.keras`` file, a SavedModel folder, or ``module:function``.
        directory: An empty folder to write the bundle's files into.
        opset: ONNX operator set version of the default domain.
        batch: A fixed batch, or ``None`` for a dynamic one.
        seed: Seed of random weights and of generated inputs.
        weights: ``random``, a file of weights, or ``None`` for the source's own
            (a zoo model has none and takes random ones).
        layout: Of image inputs in ONNX: ``keep`` the framework's or ``nchw``.
    """

    source: str
    directory: Path
    opset: int
    batch: int | None
    seed: int
    weights: str | None
    layout: Literal["keep", "nchw"]


@dataclass(frozen=True)
class ExporterDescription:
    """What is known about an exporter without importing its framework.

    Attributes:
        framework: What tables call the framework, whose outputs are what every runtime's are compared with.
        distributions: Those whose versions decide what an export makes; what was made with others is made anew.
        environment: Variables that are set for the processes that export and check.
    """

    framework: str
    distributions: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class Exporter(Protocol):
    """Makes bundles out of a framework's models."""

    @property
    def name(self) -> str:
        """The name of its entry point."""
        ...

    def describe(self) -> ExporterDescription:
        """Say what it exports from, and what with; imports no framework."""
        ...

    def accepts(self, source: str) -> bool:
        """Whether ``source`` looks like something it can export. Imports no framework."""
        ...

    def export(self, request: ExportRequest, say: Callable[[str], None], /) -> Bundle:
        """Write the bundle's files into ``request.directory`` and return it; ``say`` reports progress.

        Runs in a worker.

        Raises:
            IrbenchError: The model cannot be exported; says why and what to do.
        """
        ...


class Pass(Protocol):
    """One step of the optimiser: rewrites a graph.

    A pass never changes what a graph computes beyond rounding, nor its signature. It states its rewrite rules,
    numbered, in the docstring of its module, and applies them until none fits. A pass that finds nothing to do, or
    whose precondition does not hold, leaves the graph alone and answers ``False``.
    """

    @property
    def name(self) -> str:
        """What ``--passes`` takes; also the name of its entry point and of its file."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        ...

    @property
    def vendor(self) -> str | None:
        """Domain of the operators it may write that are not ONNX's own (``com.microsoft``); ``None`` if portable."""
        ...

    @property
    def opset(self) -> int:
        """Least version of ONNX's operator set that it needs; below that it changes nothing."""
        ...

    def __call__(self, model: ir.Model, /) -> bool:
        """Rewrite ``model`` in place and say whether anything changed."""
        ...


@dataclass(frozen=True)
class QuantizationRequest:
    """Everything a quantizer needs to write a graph.

    Attributes:
        source: A valid graph in fp32, of opset 13 or later; other files may be left beside it.
        target: Where the result goes, in another folder.
        method: How it is quantised.
        calibration: Starts the calibration's inputs from the beginning: arrays by the names of the graph's inputs. May
            be called several times; ``dynamic`` has no use for it.
    """

    source: Path
    target: Path
    method: QuantizationMethod
    calibration: Callable[[], Iterator[Mapping[str, Array]]]


class Quantizer(Protocol):
    """Makes graphs with int8 weights out of graphs in fp32, by the tool of a runtime."""

    @property
    def name(self) -> str:
        """The name of its entry point."""
        ...

    def describe(self) -> Description:
        """Say which tool is installed from metadata alone; imports no runtime."""
        ...

    def suitable_method(self, source: Path, /) -> QuantizationMethod | None:
        """Return the method that suits a graph, ``None`` where nothing in it can be quantised. Runs in a worker."""
        ...

    def quantize(self, request: QuantizationRequest, /) -> None:
        """Write the graph; inputs and outputs stay fp32. Runs in a worker; any exception is shown to the user."""
        ...
