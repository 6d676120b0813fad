"""A user's function or stages as a backend: imported in the row's process, called like any slot, timed by irbench."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.options.own_code import FACTORY_PARAMETER
from irbench.options.pipeline_stages import HOW_THEY_ARE_WRITTEN, is_function, require_stages
from irbench.spec import Artifact, Load, Program
from irbench.spec.generation import new_tokens_of
from irbench.spi import Availability, CellContext, Description, Phases, Session
from irbench.worker.generation import generating_if_decoder
from irbench.worker.own_code.imported_code import imported_code, imported_function
from irbench.worker.own_code.sessions import HOW_IT_IS_CALLED, CallableSession, PipelineSession, output_names


class CallableBackend:
    """Runs a function of the user's, or stages one after the other."""

    consumes = ("onnx",)

    def __init__(self, name: str, program: Program) -> None:
        self.name = name
        self._target = program.target
        self._function: Any = None
        self._stages: Mapping[str, Any] = {}

    def describe(self) -> Description:
        """Say what runs; nothing is known of its runtime."""
        return Description(self.name, self._target, version=None)

    def probe(self) -> Availability:
        """Say that it runs here; nothing is known of its precisions."""
        return Availability(("cpu",), {}, {}, {})

    def import_runtime(self, load: Load, device: str) -> None:  # noqa: ARG002 - the protocol's signature
        """Import the function or the stages, with everything that their modules import."""
        code = imported_code(self._target)
        if isinstance(code, Mapping):
            self._stages = _imported_stages(self._target, code, load)
        else:
            self._function = code

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Make a session of the function or the stages, or of those that the function makes."""
        context = _context(artifact, load)
        with phases("compile"):
            if self._function is not None:
                made = _made(self._function, context, self._target)
                if not isinstance(made, Mapping):
                    return CallableSession(made, artifact, load, device)
                self._stages = _imported_stages(self._target, made, load)
            stages = {name: _made_stage(stage, context, name) for name, stage in self._stages.items()}
        compiled = {
            name: stage.compile(artifact, load, phases) if isinstance(stage, _ModelStage) else stage
            for name, stage in stages.items()
        }
        return PipelineSession(compiled, artifact, load, device)


class _ModelStage:
    """A stage that is the row's model, on a backend and perhaps a device: ``ort`` or ``openvino:gpu``."""

    def __init__(self, text: str, load: Load) -> None:
        self._text = text
        name, self._device = registry.parse_backend(text)
        registry.require_installed(name)
        self._backend = registry.backend(name)
        self._backend.import_runtime(load, self._device)

    def compile(self, artifact: Artifact, load: Load, phases: Phases) -> Session:
        if artifact.kind not in self._backend.consumes:
            raise IrbenchError(
                f"The model of a stage cannot run on {self._text}, which does not read {artifact.kind}.",
                hint="Name another backend, or call its runtime in a function of your own.",
            )
        return generating_if_decoder(self._backend, artifact).compile(artifact, load, self._device, phases)


def _imported_stages(target: str, stages: Mapping[str, Any], load: Load) -> dict[str, Any]:
    """Return stages with what their texts name: functions, and backends whose runtime is imported."""
    try:
        require_stages(stages, target)
    except ValueError as error:
        raise IrbenchError(f"{error}.", hint=HOW_THEY_ARE_WRITTEN) from error
    return {name: _imported_stage(stage, load) if isinstance(stage, str) else stage for name, stage in stages.items()}


def _imported_stage(text: str, load: Load) -> Any:
    is_own = is_function(text, registry.names(registry.BACKENDS))
    return imported_function(text) if is_own else _ModelStage(text, load)


def is_factory(function: Callable[..., Any]) -> bool:
    """Whether a function makes the one that is timed: its first parameter is called ``cell``."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a function that is not written in Python
        return False
    return next(iter(parameters), "") == FACTORY_PARAMETER


def _made_stage(stage: Any, context: CellContext, name: str) -> Any:
    made = stage if isinstance(stage, _ModelStage) else _made(stage, context, f"The stage {name}")
    if isinstance(made, Mapping):
        raise IrbenchError(f"The stage {name} has stages of its own.", hint="Write them one after the other.")
    return made


def _made(function: Any, context: CellContext, what: str) -> Any:
    """Return a function, or what one makes whose first parameter is called ``cell``: a function or stages."""
    made = function(context) if is_factory(function) else function
    if not callable(made) and not isinstance(made, Mapping):
        raise IrbenchError(f"{what} returned {type(made).__name__}, which cannot be called.", hint=HOW_IT_IS_CALLED)
    return made


def _context(artifact: Artifact, load: Load) -> CellContext:
    return CellContext(
        model=artifact.path,
        batch=load.batch,
        threads=load.threads,
        streams=load.streams,
        precision=load.precision,
        shapes={spec.name: tuple(size for size in spec.shape if isinstance(size, int)) for spec in artifact.inputs},
        outputs=output_names(artifact),
        new_tokens=new_tokens_of(artifact),
    )
