"""A user's function as a backend: imported in the row's process, called like any slot, timed by irbench."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from irbench.errors import IrbenchError, first_line
from irbench.options.pickled_functions import digest_of, file_of, is_kept
from irbench.spec import Artifact, Io, Load, Program, Scalar
from irbench.spi import Array, Availability, CellContext, Description, Feed, Outputs, Phases, Session

Inference: TypeAlias = Callable[[dict[str, Array]], Any]
"""What is timed: takes arrays by the names of inputs."""

_FACTORY_PARAMETER = "cell"
_HOW_IT_IS_CALLED = (
    "A function whose first parameter is called `cell` is called once and returns the function that is timed. Any other"
    " is itself called for each inference, with a dict of arrays."
)


class CallableBackend:
    """Runs a function of the user's."""

    consumes = ("onnx", "tf-graph")

    def __init__(self, name: str, program: Program) -> None:
        self.name = name
        self._target = program.target
        self._function: Any = None

    def describe(self) -> Description:
        """Say what runs; nothing is known of its runtime."""
        return Description(self.name, self._target, version=None)

    def probe(self) -> Availability:
        """Say that it runs here; nothing is known of its precisions."""
        return Availability(("cpu",), {}, {}, {})

    def import_runtime(self, load: Load, device: str) -> None:  # noqa: ARG002 - the protocol's signature
        """Import the function, with everything that its module imports."""
        self._function = imported_function(self._target)

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Make a session of the function, or of the one that it makes."""
        with phases("compile"):
            call = self._function
            if is_factory(call):
                call = call(_context(artifact, load))
                if not callable(call):
                    raise IrbenchError(
                        f"{self._target} returned {type(call).__name__}, which cannot be called.",
                        hint=_HOW_IT_IS_CALLED,
                    )
        return _CallableSession(call, artifact, load, device)


class _CallableSession:
    def __init__(self, call: Inference, artifact: Artifact, load: Load, device: str) -> None:
        self._artifact, self._load, self._device = artifact, load, device
        self._call = call
        self._slots: Sequence[_CallableSlot] = ()

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the function says of itself in an attribute ``effective``, and whether it returns outputs."""
        said = getattr(self._call, "effective", {})
        return {
            "precision": None,
            "threads": None,
            "streams": self._load.streams,
            "device": self._device,
            **(said if isinstance(said, Mapping) else {}),
            "returns_outputs": any(slot.returns_outputs for slot in self._slots),
        }

    def open_slots(self, count: int, io: Io) -> Sequence[_CallableSlot]:  # noqa: ARG002 - it decides what it copies
        self._slots = [_CallableSlot(self._call, self._artifact) for _ in range(count)]
        return self._slots

    def close(self) -> None:
        self._slots = ()


class _CallableSlot:
    """Calls the function with a dict of its own, which it may change."""

    def __init__(self, call: Inference, artifact: Artifact) -> None:
        self._call = call
        self._inputs = tuple(spec.name for spec in artifact.inputs)
        self._outputs = tuple(spec.name for spec in artifact.outputs)
        self._feed: dict[str, Array] = {}
        self._answer: Any = None

    @property
    def returns_outputs(self) -> bool:
        return self._answer is not None

    def stage(self, feed: Feed) -> None:
        self._feed = dict(zip(self._inputs, feed, strict=True))

    def run(self) -> None:
        self._answer = self._call(self._feed)

    def fetch(self) -> Outputs:
        return outputs_in_order(self._answer, self._outputs)


def is_factory(function: Callable[..., Any]) -> bool:
    """Whether a function makes the one that is timed: its first parameter is called ``cell``."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a function that is not written in Python
        return False
    return next(iter(parameters), "") == _FACTORY_PARAMETER


def outputs_in_order(answer: Any, names: Sequence[str]) -> Outputs:
    """Return what a function returned as outputs in the order of the model's; none for ``None``."""
    if answer is None:
        return ()
    if isinstance(answer, list | tuple):
        return answer
    if isinstance(answer, Mapping):
        missing = [name for name in names if name not in answer]
        if missing:
            raise IrbenchError(
                f"It returned no output called {missing[0]!r}.",
                hint=f"It returned: {', '.join(map(str, answer)) or 'nothing'}. A list in order is fine too.",
            )
        return [answer[name] for name in names]
    if callable(answer):
        raise IrbenchError("It returned a function in place of outputs.", hint=_HOW_IT_IS_CALLED)
    if inspect.isawaitable(answer):
        answer.close() if inspect.iscoroutine(answer) else None
        raise IrbenchError(
            "It is a coroutine function: nothing ran when it was called.",
            hint="Give a function that returns when the inference is complete.",
        )
    return (answer,)


def _context(artifact: Artifact, load: Load) -> CellContext:
    return CellContext(
        model=artifact.path,
        batch=load.batch,
        threads=load.threads,
        streams=load.streams,
        precision=load.precision,
        shapes={spec.name: tuple(size for size in spec.shape if isinstance(size, int)) for spec in artifact.inputs},
        outputs=tuple(spec.name for spec in artifact.outputs),
    )


def imported_function(target: str) -> Any:
    """Return a function of a module, which is searched in the current folder first, or of a file.

    Args:
        target: ``package.module:function``, ``path/to/file.py:function``, or that of a function that was kept.
    """
    if is_kept(target):
        return _kept_function(file_of(target))
    module, _, name = target.rpartition(":")
    is_file = module.endswith(".py")
    # stays in front: the function may import more when it is called
    sys.path.insert(0, str(Path(module).resolve().parent if is_file else Path.cwd()))
    try:
        loaded = _from_file(Path(module)) if is_file else importlib.import_module(module)
    except IrbenchError:
        raise
    except Exception as error:
        raise IrbenchError(
            f"{module} cannot be imported: {type(error).__name__}: {first_line(error)}",
            hint="Import it in Python, which shows where it fails.",
        ) from error
    function = getattr(loaded, name, None)
    if not callable(function):
        raise IrbenchError(f"{module} has no function {name}.", hint="Write it as package.module:function.")
    return function


def _from_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise IrbenchError(f"There is no file {path}.", hint="Write it as path/to/file.py:function.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _kept_function(file: Path) -> Any:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise IrbenchError(
            f"The function in {file} cannot be read: {error.strerror}.",
            hint="Measure it again from where it is defined.",
        ) from error
    if digest_of(content) != file.stem:
        raise IrbenchError(
            f"The function in {file} is not the one that was kept there.",
            hint="Remove the file, and measure the function again from where it is defined.",
        )
    sys.path.insert(0, str(Path.cwd()))  # for the modules that it imports, as those of any function
    try:
        return pickle.loads(content)  # noqa: S301 - the user's own code, as a module is
    except Exception as error:
        raise IrbenchError(
            f"The function cannot be made in a process of its own: {type(error).__name__}: {first_line(error)}",
            hint='Write it to a file, and give cells={"mine": "my_file.py:infer"}.',
        ) from error
