"""Trace a loaded model to a concrete function, and compute its reference outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irbench import feeds
from irbench.errors import IrbenchError, first_line
from irbench.spec import BATCH, TensorSpec
from irbench.spi import Array
from irbench_tf.sources import Loaded

__all__ = ["Traced", "output_shapes", "reference_outputs", "trace"]


@dataclass(frozen=True)
class Traced:
    """A concrete function over positional tensors.

    Attributes:
        function: The concrete function; its first ``len(inputs)`` inputs are the model's.
        inputs: The model's inputs as the function takes them, in the framework's layout.
        output_names: One unique name per output.
        batch: The fixed batch, or ``None`` where it is free.
    """

    function: Any
    inputs: tuple[TensorSpec, ...]
    output_names: tuple[str, ...]
    batch: int | None


def trace(loaded: Loaded, batch: int | None) -> Traced:
    """Trace the model in inference mode with a free batch, or with ``batch`` samples.

    Raises:
        IrbenchError: The model insists on another batch, an output has no batch, or it cannot be traced.
    """
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
    try:
        function = _concrete(loaded, specs)
    except Exception as error:
        raise IrbenchError(
            f"TensorFlow cannot trace {loaded.name}: {type(error).__name__}: {first_line(error)}",
            hint="Check that the model runs on a batch" + (f" of {batch}." if batch else " of any size."),
        ) from error
    names = _output_names(loaded.output_names, len(function.outputs), {spec.name for spec in inputs})
    _require_batched(function.outputs, names, batch)
    return Traced(function, inputs, names, batch)


def _concrete(loaded: Loaded, specs: Sequence[Any]) -> Any:
    import tensorflow as tf

    def call(*tensors: Any) -> list[Any]:
        return loaded.call(list(tensors))

    if loaded.imports_graph:  # a function adds control dependencies, which must not leave a loop of TensorFlow 1
        return tf.compat.v1.wrap_function(call, list(specs))
    return tf.function(call, autograph=False).get_concrete_function(*specs)


def reference_outputs(traced: Traced, loaded: Loaded, seed: int) -> tuple[Array, ...]:
    """Return the model's outputs for the first :data:`irbench.feeds.POOL` samples at its default sizes.

    A fixed batch is filled with repeats of the pool, and the repeats' outputs are dropped.
    """
    import tensorflow as tf

    step = traced.batch or feeds.POOL
    total = -(-feeds.POOL // step) * step
    samples = feeds.generate(loaded.inputs, {**loaded.defaults, BATCH: total}, seed)
    chunks = [
        [output.numpy() for output in traced.function(*(tf.constant(array[start : start + step]) for array in samples))]
        for start in range(0, total, step)
    ]
    return tuple(np.concatenate(parts)[: feeds.POOL] for parts in zip(*chunks, strict=True))


def output_shapes(traced: Traced, loaded: Loaded) -> tuple[tuple[int | str, ...], ...]:
    """Return each output's shape with its free axes named after the inputs' free dimensions.

    TensorFlow calls every free axis ``None``. Which input dimension an output axis follows is seen
    by running the model at two sizes; an axis that follows none gets a name of its own.
    """
    static = [tuple(output.shape.as_list()) for output in traced.function.outputs]
    names = {BATCH: 2, **loaded.defaults} if traced.batch is None else dict(loaded.defaults)
    free = [name for name in names if any(name in spec.dynamic_dimensions for spec in traced.inputs)]
    needs_probe = any(size is None for shape in static for size in shape[1:])
    follows = _probe(traced, loaded, names, free) if needs_probe else {}
    return tuple(
        tuple(_axis(traced, position, axis, size, follows) for axis, size in enumerate(shape))
        for position, shape in enumerate(static)
    )


def _axis(
    traced: Traced, output: int, axis: int, size: int | None, follows: Mapping[tuple[int, int], str]
) -> int | str:
    if axis == 0:
        return BATCH if traced.batch is None else traced.batch
    if size is not None:
        return size
    return follows.get((output, axis), f"{traced.output_names[output]}_{axis}")


def _probe(traced: Traced, loaded: Loaded, sizes: Mapping[str, int], free: Sequence[str]) -> dict[tuple[int, int], str]:
    base = _shapes_at(traced, loaded, sizes)
    follows: dict[tuple[int, int], str] = {}
    for name in free:
        if name == BATCH:
            continue
        grown = _shapes_at(traced, loaded, {**sizes, name: sizes[name] + 1})
        for output, (before, after) in enumerate(zip(base, grown, strict=True)):
            for axis, (old, new) in enumerate(zip(before, after, strict=True)):
                if (old, new) == (sizes[name], sizes[name] + 1):
                    follows[output, axis] = name
    return follows


def _shapes_at(traced: Traced, loaded: Loaded, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    import tensorflow as tf

    every = {**sizes, BATCH: traced.batch or 1}
    arrays = feeds.generate(loaded.inputs, every, 0)
    return [tuple(output.shape) for output in traced.function(*map(tf.constant, arrays))]


def _output_names(given: Sequence[str], count: int, taken: set[str]) -> tuple[str, ...]:
    if len(given) != count:
        given = ["output"] if count == 1 else [f"output_{position}" for position in range(count)]
    names: list[str] = []
    for name in given:
        candidate = name.replace("/", "_")
        while candidate in taken or candidate in names:
            candidate += "_out"
        names.append(candidate)
    return tuple(names)


def _require_batched(outputs: Sequence[Any], names: Sequence[str], batch: int | None) -> None:
    for output, name in zip(outputs, names, strict=True):
        rank = output.shape.rank
        if rank is None or rank == 0 or output.shape[0] != batch:
            raise IrbenchError(
                f"Output {name} has the shape {output.shape}: its first axis is not the batch.",
                hint="Return only outputs with one entry per sample.",
            )
