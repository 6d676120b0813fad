"""Sessions of the user's own code: of one function, or of stages with a compiled model among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from irbench.core.quantities import listing
from irbench.errors import IrbenchError
from irbench.measure.call_parts import TimedStages, described
from irbench.onnx.reading.element_types import numpy_dtype
from irbench.spec import Artifact, Io, Load, Scalar, TensorSpec
from irbench.spec.generation import GenerationArtifact, new_tokens_of
from irbench.spi import Array, Feed, Outputs, Session, Slot
from irbench.worker.cuda_contexts import uses_cuda
from irbench.worker.own_code.generated_tokens import generated_tokens

Inference: TypeAlias = Callable[[dict[str, Array]], Any]
"""What is timed: takes arrays by the names of inputs."""
Stage: TypeAlias = Callable[[Any], Any] | Session
"""A function of what the stage before returned, or the row's model, compiled."""

HOW_IT_IS_CALLED = (
    "A function whose first parameter is called `cell` is called once and returns the function that is timed, or a"
    " mapping of stages. Any other is itself called for each inference, with a dict of arrays."
)


class CallableSession:
    """One function, which every slot calls."""

    def __init__(self, call: Inference, artifact: Artifact, load: Load, device: str) -> None:
        self._artifact, self._load, self._device = artifact, load, device
        self._call = call
        self._slots: Sequence[_CallableSlot] = ()

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the function says of itself in an attribute ``effective``, and whether it returns outputs."""
        said = getattr(self._call, "effective", {})
        known = _facts(self._artifact, self._load, self._device, said if isinstance(said, Mapping) else {})
        return {**known, "returns_outputs": any(slot.returns_outputs for slot in self._slots)}

    def open_slots(self, count: int, io: Io) -> Sequence[_CallableSlot]:  # noqa: ARG002 - it decides what it copies
        """Open slots, which share the function."""
        self._slots = [_CallableSlot(self._call, self._artifact) for _ in range(count)]
        return self._slots

    def close(self) -> None:
        """Forget the slots."""
        self._slots = ()


class _CallableSlot:
    """Calls the function with a dict of its own, which it may change."""

    def __init__(self, call: Inference, artifact: Artifact) -> None:
        self._call = call
        self._artifact = artifact
        self._inputs = tuple(spec.name for spec in artifact.inputs)
        self._outputs = output_names(artifact)
        self._staged: Feed = ()
        self._feed: dict[str, Array] = {}
        self._answer: Any = None

    @property
    def returns_outputs(self) -> bool:
        return self._answer is not None

    def stage(self, feed: Feed) -> None:
        self._staged = feed
        self._feed = dict(zip(self._inputs, feed, strict=True))

    def run(self) -> None:
        try:
            self._answer = self._call(self._feed)
        except BaseException:
            self._answer = None  # those of the call before are not its outputs
            raise

    def fetch(self) -> Outputs:
        outputs = outputs_in_order(self._answer, self._outputs)
        if not isinstance(self._artifact, GenerationArtifact):
            return outputs
        return (generated_tokens(outputs, self._staged[0], self._artifact),)


class PipelineSession:
    """Stages by name, in order, each of which is given what the one before returned."""

    def __init__(self, stages: Mapping[str, Stage], artifact: Artifact, load: Load, device: str) -> None:
        self._stages = stages
        self._artifact, self._load, self._device = artifact, load, device
        self._slots: Sequence[_PipelineSlot] = ()

    @property
    def effective(self) -> Mapping[str, Scalar]:
        """What the model's session says of itself, where a stage is one, and whether the last stage returns outputs."""
        said = {name: value for model in self._models.values() for name, value in model.effective.items()}
        known = _facts(self._artifact, self._load, self._device, said)
        return {**known, "returns_outputs": any(slot.returns_outputs for slot in self._slots)}

    def open_slots(self, count: int, io: Io) -> Sequence[_PipelineSlot]:  # noqa: ARG002 - inputs of models change
        """Open slots, each with a slot of its own of every model."""
        models = {name: model.open_slots(count, "copy") for name, model in self._models.items()}
        self._slots = [self._slot({name: slots[number] for name, slots in models.items()}) for number in range(count)]
        return self._slots

    def _slot(self, models: Mapping[str, Slot]) -> _PipelineSlot:
        calls = {
            name: stage if callable(stage) else _ModelCall(models[name], self._artifact)
            for name, stage in self._stages.items()
        }
        return _PipelineSlot(TimedStages(calls), self._artifact)

    @property
    def _models(self) -> Mapping[str, Session]:
        return {name: stage for name, stage in self._stages.items() if not callable(stage)}

    def close(self) -> None:
        """Close the models."""
        self._slots = ()
        for model in self._models.values():
            model.close()


class _PipelineSlot(_CallableSlot):
    """Calls the stages, and knows when each was complete."""

    def __init__(self, stages: TimedStages, artifact: Artifact) -> None:
        super().__init__(stages, artifact)
        self.parts = stages.names
        self.take_finished = stages.take_finished


class _ModelCall:
    """A compiled model as a function: of a dict by the names of inputs, a list in order, or the only one.

    Args:
        slot: Runs it.
        artifact: Says what it takes.
    """

    def __init__(self, slot: Slot, artifact: Artifact) -> None:
        self._slot = slot
        self._inputs = artifact.inputs

    def __call__(self, given: Any) -> list[Array]:
        """Return the outputs in the order of the model's.

        Raises:
            IrbenchError: It does not take what it is given.
        """
        self._slot.stage(self._feed(given))
        self._slot.run()
        return list(self._slot.fetch())

    def _feed(self, given: Any) -> Feed:
        names = [spec.name for spec in self._inputs]
        is_named = isinstance(given, Mapping) and all(name in given for name in names)
        values = [given[name] for name in names] if is_named else given if isinstance(given, list | tuple) else [given]
        if (isinstance(given, Mapping) and not is_named) or len(values) != len(names):
            raise IrbenchError(
                f"the model takes {listing(names)}, not {described(given)}.",
                hint="Return a dict with these names, or arrays in this order.",
            )
        return tuple(_as_input(value, spec) for value, spec in zip(values, self._inputs, strict=True))


def _as_input(value: Any, spec: TensorSpec) -> Array:
    array = np.asarray(value, order="C")
    if array.shape != spec.shape or array.dtype != numpy_dtype(spec.dtype):
        shape = "x".join(map(str, spec.shape)) or "()"
        raise IrbenchError(
            f"{spec.name} of the model is {spec.dtype} of shape {shape}, not {described(array)}.",
            hint="Convert it in the stage before: array.astype(...), array.reshape(...) or array[None].",
        )
    return array


def _facts(artifact: Artifact, load: Load, device: str, said: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """Return what the user's code says of itself, what nobody knows where it says nothing, and what was asked of it."""
    new_tokens = new_tokens_of(artifact)
    generates = {} if new_tokens is None else {"new_tokens": new_tokens}
    gpu = {"uses_cuda": True} if uses_cuda() else {}
    return {"precision": None, "threads": None, "streams": load.streams, "device": device, **said, **generates, **gpu}


def output_names(artifact: Artifact) -> tuple[str, ...]:
    """Return the names of what the user's code is to return; of a generation the tokens alone."""
    names = tuple(spec.name for spec in artifact.outputs)
    return names[:1] if isinstance(artifact, GenerationArtifact) else names


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
                hint=f"It returned: {', '.join(map(str, answer)) or 'nothing'}. A list in order is fine too, and None"
                " where outputs are not to be compared.",
            )
        return [answer[name] for name in names]
    if callable(answer):
        raise IrbenchError("It returned a function in place of outputs.", hint=HOW_IT_IS_CALLED)
    if inspect.isawaitable(answer):
        answer.close() if inspect.iscoroutine(answer) else None
        raise IrbenchError(
            "It is a coroutine function: nothing ran when it was called.",
            hint="Give a function that returns when the inference is complete.",
        )
    return (answer,)
