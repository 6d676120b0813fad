"""Inputs: the same logical arrays for every backend, laid out as each artifact wants them.

They come from data, from constants, and from a generator for everything else. Generated sample ``i`` of a batch is
drawn from a generator of its own, and samples repeat after :data:`POOL`, so that the reference outputs of the first
:data:`POOL` samples answer for every batch size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irbench.onnx.reading.element_types import STRING, numpy_dtype
from irbench.spec import (
    BATCH,
    RANDOM_DRAWS,
    RANDOM_SWITCH,
    RANDOM_SWITCH_OFF,
    Artifact,
    Bundle,
    Distribution,
    Feeding,
    InputSpec,
    Number,
)
from irbench.spec.feeding import RANGES, number_of_text
from irbench.spi import Array, Feed

ALIGNMENT = 64
"""Bytes at whose multiples inputs begin: a cache line, and the most that a runtime asks for to read in place."""
POOL = 8
"""Distinct samples; sample ``i`` of a batch equals sample ``i % POOL``."""


def generate(inputs: Sequence[InputSpec], sizes: Mapping[str, int], seed: int) -> tuple[Array, ...]:
    """Return one array per logical input.

    Args:
        inputs: Logical inputs. One whose first dimension is the free batch is drawn sample by sample.
        sizes: Every free dimension bound.
        seed: Equal seeds give equal values whatever the batch.
    """
    return tuple(_generate_one(spec, sizes, seed, position) for position, spec in enumerate(inputs))


def logical_inputs(
    inputs: Sequence[InputSpec], sizes: Mapping[str, int], feeding: Feeding, sample: int = 0
) -> tuple[Array, ...]:
    """Return one array per logical input: from the sample, from its constant, or generated.

    An input that outputs are fed back to begins with zeros, unless the sample or a constant says otherwise.
    """
    fixed: dict[str, Array] = {}
    for spec in inputs:
        name = spec.tensor.name
        if name in feeding.values:
            fixed[name] = constant(spec, sizes, feeding.values[name])
        elif name in feeding.feedback:
            fixed[name] = np.zeros(_bound_shape(spec, sizes), spec.tensor.dtype)
    if feeding.samples:
        fixed |= read_sample(feeding.samples[sample], inputs)
    return tuple(
        fixed[spec.tensor.name]
        if spec.tensor.name in fixed
        else _generate_one(spec, sizes, feeding.seed, position, feeding.drawn)
        for position, spec in enumerate(inputs)
    )


def constant(spec: InputSpec, sizes: Mapping[str, int], values: Sequence[Number]) -> Array:
    """Return the array of an input that has the same values in every call.

    Args:
        spec: The input.
        sizes: Every free dimension bound.
        values: One element fills the input; as many as the input has are its elements in C order; others are
            broadcast to its shape.

    Raises:
        ValueError: They cannot be broadcast, or the dtype cannot hold one of them exactly.
    """
    shape = _bound_shape(spec, sizes)
    array = _elements(spec.tensor.dtype, values)
    whole = array.reshape(shape) if array.size == math.prod(shape) else np.broadcast_to(array, shape)
    return np.array(whole, order="C")


def _elements(element_type: str, values: Sequence[Number]) -> Array:
    """Return constants in the dtype of an input: as texts where it takes strings, otherwise as numbers."""
    dtype = numpy_dtype(element_type)
    if element_type == STRING:
        return np.asarray([str(value) for value in values], dtype)
    elements = np.asarray([number_of_text(value) if isinstance(value, str) else value for value in values])
    array = elements.astype(dtype)  # raises ValueError for a text that is not a number
    if dtype.kind in "biu" and not np.array_equal(array, elements):
        raise ValueError(f"{element_type} cannot hold {', '.join(map(str, values))}")
    return array


def random_draws(bundle: Bundle, feeding: Feeding) -> str:
    """Return what draws random numbers in a model for such inputs; empty where nothing does.

    An input that turns off what draws counts where every sample has it: generated, it may be anything.
    """
    draws, switch = bundle.details.get(RANDOM_DRAWS), bundle.details.get(RANDOM_SWITCH)
    spec = next((spec for spec in bundle.inputs if spec.tensor.name == switch), None)
    if spec is None or not draws:
        return str(draws or "")
    samples = [read_sample(path, bundle.inputs) for path in feeding.samples]
    given = [sample[spec.tensor.name] for sample in samples if spec.tensor.name in sample]
    if len(given) < max(len(samples), 1):
        if spec.tensor.name not in feeding.values:
            return str(draws)
        given.append(_elements(spec.tensor.dtype, feeding.values[spec.tensor.name]))
    off = bool(bundle.details.get(RANDOM_SWITCH_OFF))
    return "" if all(np.all(array.astype(bool) == off) for array in given) else str(draws)


def mask_axis(shape: Sequence[int]) -> int:
    """Return the axis along which a mask keeps some positions and drops others, counted from the end as -1.

    It is the last one with several elements: ``(4, 7, 1)`` is broadcast over channels.
    """
    return next((axis for axis in range(-1, -len(shape) - 1, -1) if shape[axis] > 1), -1)


def write_sample(path: Path, inputs: Sequence[InputSpec], arrays: Mapping[str, Array]) -> None:
    """Write the arrays of one sample as a NumPy archive, without pickles and without dtypes of extensions."""
    places = {spec.tensor.name: place for place, spec in enumerate(inputs)}
    np.savez(path, allow_pickle=False, **{str(places[name]): storable(array) for name, array in arrays.items()})


def read_sample(path: Path, inputs: Sequence[InputSpec]) -> dict[str, Array]:
    """Return the arrays that :func:`write_sample` wrote for the same inputs, by name."""
    with np.load(path, allow_pickle=False) as archive:
        specs = {place: inputs[int(place)].tensor for place in archive.files}
        return {spec.name: _restored(archive[place], numpy_dtype(spec.dtype)) for place, spec in specs.items()}


def lay_out(logical: Sequence[Array], artifact: Artifact) -> Feed:
    """Return copies of the logical arrays in the artifact's layout and dtype, C-contiguous, at aligned addresses.

    Each begins at a multiple of :data:`ALIGNMENT` bytes, so that no runtime must copy what another reads in place.
    """
    return tuple(
        _aligned_copy(array if spec.permutation is None else array.transpose(spec.permutation), numpy_dtype(spec.dtype))
        for array, spec in zip(logical, artifact.inputs, strict=True)
    )


def answers_of_pool(
    answer: Callable[[Feed], Sequence[Array]], inputs: Sequence[InputSpec], sizes: Mapping[str, int], seed: int
) -> list[tuple[Array, ...]]:
    """Return what a model answers to the first :data:`POOL` samples, one set of outputs for each batch.

    Args:
        answer: Calls the model with one batch.
        inputs: Logical inputs.
        sizes: Of dynamic dimensions, and of the batch where it is fixed: it is filled with repeats of the pool.
        seed: Of the samples.
    """
    step = sizes.get(BATCH, POOL)
    total = -(-POOL // step) * step
    arrays = generate(inputs, {**sizes, BATCH: total}, seed)
    counting = [BATCH in spec.tensor.shape[:1] for spec in inputs]
    return [
        tuple(
            answer(
                tuple(
                    array[start : start + step] if counts else array
                    for array, counts in zip(arrays, counting, strict=True)
                )
            )
        )
        for start in range(0, total, step)
    ]


def joined_pool(
    parts: Sequence[Sequence[Array]], axes: Sequence[int | None], sizes: Mapping[str, int]
) -> tuple[Array, ...]:
    """Return the outputs of the first :data:`POOL` samples, given those of each batch.

    Args:
        parts: As :func:`answers_of_pool` returns them.
        axes: For each output the axis that counts samples; ``None`` where none does, and the first batch answers.
        sizes: With that of the batch where it is fixed.
    """
    samples = sizes.get(BATCH, POOL)
    return tuple(
        outputs[0]
        if axis is None
        else np.take(np.concatenate(outputs, axis), np.arange(outputs[0].shape[axis] // samples * POOL), axis)
        for outputs, axis in zip(zip(*parts, strict=True), axes, strict=True)
    )


def same_answers(parts: Sequence[Sequence[Array]], others: Sequence[Sequence[Array]]) -> bool:
    """Whether a model answered the same twice; NaN is equal to itself."""
    pairs = (pair for own, other in zip(parts, others, strict=True) for pair in zip(own, other, strict=True))
    return all(np.array_equal(left, right, equal_nan=left.dtype.kind == "f") for left, right in pairs)


def repeat_pool(outputs: Sequence[Array], batch: int, axes: Sequence[int | None] = ()) -> tuple[Array, ...]:
    """Return the outputs of a batch of ``batch`` samples, given those of the first :data:`POOL`.

    Args:
        outputs: Of the first :data:`POOL` samples.
        batch: How many samples.
        axes: As :attr:`irbench.spec.Bundle.batch_axes`; empty where the first axis of each output counts samples.
    """
    return tuple(_repeated(output, batch, axis) for output, axis in zip(outputs, _axes(outputs, axes), strict=True))


def holds_pool(outputs: Sequence[Array], axes: Sequence[int | None] = ()) -> bool:
    """Return whether outputs may be those of :data:`POOL` samples."""
    counting = _axes(outputs, axes)
    return len(counting) == len(outputs) and all(
        _has_pool(output.shape, axis) for output, axis in zip(outputs, counting, strict=True)
    )


def _axes(outputs: Sequence[Array], axes: Sequence[int | None]) -> Sequence[int | None]:
    return axes or (0,) * len(outputs)


def _has_pool(shape: tuple[int, ...], axis: int | None) -> bool:
    return axis is None or (axis < len(shape) and shape[axis] > 0 and shape[axis] % POOL == 0)


def _repeated(output: Array, batch: int, axis: int | None) -> Array:
    if axis is None:
        return output
    rows = output.shape[axis] // POOL
    taken = (np.arange(batch) % POOL)[:, np.newaxis] * rows + np.arange(rows)
    repeated: Array = np.take(output, taken.ravel(), axis=axis)
    return repeated


def _aligned_copy(array: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.hasobject or not dtype.itemsize:
        return np.array(array, dtype, order="C")  # text, which every runtime copies into strings of its own
    room = np.empty(array.size * dtype.itemsize + ALIGNMENT, np.uint8)
    copy: Array = np.ndarray(array.shape, dtype, room, offset=-room.ctypes.data % ALIGNMENT)
    copy[...] = array
    return copy


def _generate_one(
    spec: InputSpec, sizes: Mapping[str, int], seed: int, position: int, drawn: Distribution = "declared"
) -> Array:
    shape = _bound_shape(spec, sizes)
    if not spec.tensor.shape or spec.tensor.shape[0] != BATCH:
        return _draw(spec, shape, (seed, position), drawn)
    batch, *rest = shape
    samples = [_draw(spec, tuple(rest), (seed, position, sample), drawn) for sample in range(min(batch, POOL))]
    return np.stack(samples)[np.arange(batch) % POOL]


def _bound_shape(spec: InputSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(size for size in spec.tensor.bind(sizes).shape if isinstance(size, int))


def storable(array: Array) -> Array:
    """Return values in a type that NumPy's files hold: texts for objects, unsigned integers for types of ml_dtypes."""
    if array.dtype.hasobject:
        return array.astype(str)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array


def _restored(array: Array, dtype: np.dtype[Any]) -> Array:
    return array.astype(dtype) if dtype.hasobject or array.dtype == dtype else array.view(dtype)


def _draw(spec: InputSpec, shape: tuple[int, ...], entropy: tuple[int, ...], drawn: Distribution) -> Array:
    generator = np.random.default_rng(entropy)
    dtype = numpy_dtype(spec.tensor.dtype)
    if spec.is_mask and shape:
        kept = _mask(generator, shape)
        return (1 - kept if spec.marks_padding else kept).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(generator.random(shape) < 0.5)
    if dtype.kind in "iuO" or "int" in dtype.name:  # also integers of four bits, which NumPy has no kind for
        integers = generator.integers(int(spec.low), max(int(spec.high), int(spec.low) + 1), shape)
        return (integers.astype(str) if dtype.hasobject else integers).astype(dtype)
    if drawn == "normal":
        return np.asarray(generator.standard_normal(shape), dtype)
    low, high = RANGES.get(drawn, (spec.low, spec.high))
    return generator.uniform(low, high, shape).astype(dtype)


def _mask(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return ones that are followed by zeros from some position on, along :func:`mask_axis`.

    Rows of more than one element hold both. In some models true is a position that counts and in others one that does
    not, and a softmax over none is NaN.
    """
    *rows, length = shape[: len(shape) + 1 + mask_axis(shape)]
    kept = generator.integers(1, max(length, 2), tuple(rows))
    mask: Array = np.arange(length) < np.expand_dims(kept, -1)
    return np.broadcast_to(mask.reshape(*mask.shape, *(1,) * (len(shape) - mask.ndim)), shape)
