"""Trace a loaded model to a concrete function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irbench.errors import IrbenchError
from irbench.spec import BATCH, TensorSpec
from irbench_tf.loading.sources import Loaded
from irbench_tf.model_errors import blaming_model
from irbench_tf.random_draws import drawing_without_seeds


@dataclass(frozen=True)
class TracedFunction:
    """A concrete function over positional tensors.

    Attributes:
        function: The concrete function; its first ``len(inputs)`` inputs are the model's.
        inputs: The model's inputs as the function takes them, in the framework's layout.
        batch: The fixed batch, or ``None`` where it is free.
    """

    function: Any
    inputs: tuple[TensorSpec, ...]
    output_names: tuple[str, ...]
    batch: int | None


def trace(loaded: Loaded, batch: int | None) -> TracedFunction:
    """Trace the model in inference mode with a free batch, or with ``batch`` samples."""
    import tensorflow as tf

    if loaded.fixed_batch is not None and batch not in (None, loaded.fixed_batch):
        raise IrbenchError(
            f"{loaded.name} was built for batches of {loaded.fixed_batch} only.",
            hint=f"Use --batch {loaded.fixed_batch}, or build the model with a dynamic batch.",
        )
    batch = batch or loaded.fixed_batch
    inputs = tuple(tensor.tensor if batch is None else tensor.tensor.bind({BATCH: batch}) for tensor in loaded.inputs)
    specs = [
        tf.TensorSpec([size if isinstance(size, int) else None for size in spec.shape], spec.dtype, spec.name)
        for spec in inputs
    ]
    with blaming_model(loaded, {} if batch is None else {BATCH: batch}, traces=True):
        function = _concrete(loaded, specs)
    names = _output_names(loaded.output_names, len(function.outputs), {spec.name for spec in inputs})
    _refuse_complex(function.outputs, names)
    return TracedFunction(function, inputs, names, batch)


def _concrete(loaded: Loaded, specs: Sequence[Any]) -> Any:
    import tensorflow as tf

    def call(*tensors: Any) -> list[Any]:
        with drawing_without_seeds():
            return loaded.call(list(tensors))

    if loaded.imports_graph:  # a function adds control dependencies, which must not leave a loop of TensorFlow 1
        return tf.compat.v1.wrap_function(call, list(specs))
    return tf.function(call, autograph=False).get_concrete_function(*specs)


def _output_names(known: Sequence[str], count: int, taken: set[str]) -> tuple[str, ...]:
    if len(known) != count:
        known = ["output"] if count == 1 else [f"output_{position}" for position in range(count)]
    names: list[str] = []
    for name in known:
        candidate = name.replace("/", "_")
        while candidate in taken or candidate in names:
            candidate += "_out"
        names.append(candidate)
    return tuple(names)


def _refuse_complex(outputs: Sequence[Any], names: Sequence[str]) -> None:
    for output, name in zip(outputs, names, strict=True):
        if output.dtype.is_complex:
            raise IrbenchError(
                f"Output {name} holds complex numbers, which no runtime has a type for.",
                hint="Return the real and the imaginary part as two outputs: tf.math.real(x) and tf.math.imag(x).",
            )
