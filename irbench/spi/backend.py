"""What runs a model: backends, their sessions and slots, and the arrays that go in and come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from irbench.spec import Artifact, Io, Load, Scalar, TensorSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray  # listing backends and models takes a third less time without it

Array: TypeAlias = "NDArray[Any]"
"""One host array, of any dtype and shape."""
Feed: TypeAlias = tuple[Array, ...]
"""One host array per input, in the order and layout of ``artifact.inputs``, C-contiguous; 64-byte aligned if timed."""
Outputs: TypeAlias = Sequence[Array]
"""One host array per output, in the order of ``artifact.outputs``."""
Phases: TypeAlias = Callable[[Literal["load", "compile"]], AbstractContextManager[None]]
"""Opens the evidence around a phase: ``with phases("load"): ...``."""


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
        nvidia_devices: Those of them that are NVIDIA GPUs: the energy that NVML counts belongs to rows on these.
        install: The exact command that installs what is missing.
        domains: Operator sets of vendors that it reads besides ONNX's own, ``com.microsoft`` for example.
        options: Keys that ``--set`` may give it, on any device, so that a mistyped one is found before a worker starts;
            ``None`` where only the runtime knows them.
        reserved: Keys that irbench sets itself, each with the argument it follows: ``--threads`` for example.
        is_original: Whether it runs models in the framework that they were made with; its row is the usual baseline.
        reference_rank: References answer in the order of their ranks, the lowest first, then by name: a quick one has a
            low rank. Without meaning for a backend that is not a reference.
        reference_name: What tables call its answers as a reference; ``the reference`` and its name unless given.
        int8_methods: How an ONNX graph may be quantised so that it is computed in integers: ``static``, ``dynamic``.
        tunable: Options that are worth trying when the best setting is searched for, with their values, by device.
        bound_options: Options that need inputs and outputs that stay bound (``io="bound"``).
        operator_kinds: The class of work (:mod:`irbench.onnx.operator_classes`) of operators that compute no node of a
            model, or none that is known, by the runtime's own operator type: ``Reorder`` is ``movement``.
        hints: What its vendor advises for an objective, as options, by the objective: ``fps`` or ``latency``.
        cache_folders: Keys of options that name a folder in which the runtime keeps what it compiled, so that a cold
            start can be given an empty one.
        files: Keys of other options that name a file or a folder: a stored plan does not choose them for its reader.
            ``None`` where nobody looked, so that any option may: ``()`` says that none does.
        variables: How the names of the environment variables begin that its runtime and what that loads read,
            ``OPENVINO_`` for example: a confined worker sees no others than those and common ones of libraries.
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
    int8_methods: tuple[str, ...] = ("static", "dynamic")
    cache_folders: tuple[str, ...] = ()
    tunable: Mapping[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[str, ...]]]
    )
    bound_options: tuple[str, ...] = ()
    hints: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    operator_kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    nvidia_devices: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(isinstance(options, Mapping) for options in self.tunable.values()):
            raise TypeError(
                f'Description.tunable of {self.name} must have options by device: {{"cpu": {dict(self.tunable)}}}'
            )

    def may_name_file(self, key: str) -> bool:
        """Whether the value of an option may name a file or a folder."""
        return self.files is None or key in (*self.cache_folders, *self.files)


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
        """Return the outputs of the last run, as often as asked: host arrays that stay valid after the next run."""
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
        """Return ``count`` slots. With ``io="bound"`` inputs and outputs lie where the runtime wants them."""
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


@runtime_checkable
class StreamAdvisor(Protocol):
    """A backend whose runtime says how many inferences at a time suit a model."""

    def advised_streams(self, artifact: Artifact, load: Load, device: str, /) -> int:
        """Return how many inferences in flight the runtime advises for these options. Runs in a worker.

        Args:
            artifact: What it would compile, every dimension bound.
            load: Its options; ``streams`` and ``threads`` are what is asked.
            device: Where.
        """
        ...


@dataclass(frozen=True)
class UsedModel:
    """A model as a program that uses it knows it.

    Attributes:
        inputs: Its inputs, with the shapes that they have in every call; a dimension that differs has a name.
        outputs: Its outputs, in their order.
        io: Whether buffers stay bound from call to call.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    io: Io = "copy"


@dataclass(frozen=True)
class Usage:
    """Python that uses a runtime without irbench: the pieces that are the same for every program.

    Attributes:
        imports: Import statements.
        load: Definition of the function ``load(path)``, which compiles the file of a model and returns what ``Caller``
            is made of.
        caller: Definition of the class ``Caller``, made of that, whose methods are those of a :class:`Slot`: ``stage``
            takes arrays by input name, ``run`` runs one inference, and ``fetch`` returns a list of the outputs, which
            stay valid. Each thread makes one for itself.
        run_all: With several streams, the definition of ``run_all(model, batches)``, which runs all of ``batches``,
            each such inputs, and returns their outputs in the same order. Empty where ``STREAMS`` threads do that, each
            with a ``Caller``.
        environment: Variables that must be set before the runtime is imported.
    """

    imports: str
    load: str
    caller: str
    run_all: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@runtime_checkable
class UsageWriter(Protocol):
    """A backend that can tell how its runtime is used without irbench."""

    def usage(self, model: UsedModel, load: Load, device: str, /) -> Usage:
        """Return Python that compiles a model as a load asks for, and runs it. Imports no runtime.

        Args:
            model: What is compiled.
            load: How it is driven; what several processes share is the caller's.
            device: Where.

        Raises:
            Refusal: There is no such program, for tensors that NumPy has no type for, for example.
        """
        ...


@runtime_checkable
class LoadChecker(Protocol):
    """A backend that knows of some loads that they are impossible, before any process starts."""

    def check_load(self, load: Load, device: str, graph_precision: str, /) -> None:
        """Refuse what :meth:`Backend.compile` would certainly refuse, without importing the runtime.

        Runs in irbench's own process.

        Args:
            load: What is asked for.
            device: Where.
            graph_precision: The narrowest precision that the model's ONNX graph holds, ``fp32`` for example; empty for
                another kind of artifact.

        Raises:
            Refusal: It is impossible, for whatever model holds that precision.
        """
        ...


@dataclass(frozen=True)
class CellContext:
    """What a row is to run, and how: the argument of a function whose first parameter is called ``cell``.

    Such a function is called once in each process of the row, and returns the function that is timed.

    Attributes:
        model: The file of the model; dynamic dimensions have fixed sizes in it where they can.
        batch: Samples per inference.
        threads: Total for the process; ``None`` for ``--threads native``.
        streams: Inferences in flight: the returned function is called by so many threads at a time.
        precision: What was asked for: ``fp32``, ``bf16``, ``fp16``, ``int8`` or ``native``.
        shapes: Of the inputs, by their names in the model's file.
        outputs: Names of the outputs in the model's file, in the order in which they are returned.
        new_tokens: With ``--generate``: how many tokens a call generates. ``model`` is the decoder's file then, the
            first input is the prompt, and the only output is ``tokens``. Otherwise ``None``.
    """

    model: Path
    batch: int
    threads: int | None
    streams: int
    precision: str
    shapes: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
    new_tokens: int | None = None
