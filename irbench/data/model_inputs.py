"""What arrays for the inputs of a model may look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.spec import BATCH, Bundle, InputSpec, Shape, TensorSpec, shape_text
from irbench.spi import Array


@dataclass(frozen=True)
class ModelInput:
    """A logical input, and the forms in which an array for it is accepted.

    Attributes:
        spec: The input with the range of its values.
        aliases: Its names in the model's artifacts.
        batch_axis: Along which axis samples lie; ``None`` for an input without a batch.
        layouts: Orders of its axes in artifacts that transpose it.
    """

    spec: InputSpec
    aliases: tuple[str, ...]
    batch_axis: int | None
    layouts: tuple[tuple[int, ...], ...]

    @property
    def name(self) -> str:
        """Its logical name."""
        return self.spec.tensor.name


def model_inputs(bundle: Bundle, fixed_batch: int | None) -> tuple[ModelInput, ...]:
    """Return what arrays for a model's inputs may look like."""
    return tuple(
        ModelInput(
            spec,
            tuple(dict.fromkeys(artifact.inputs[place].name for artifact in bundle.artifacts)),
            batch_axis(spec.tensor.shape, fixed_batch),
            tuple(
                dict.fromkeys(
                    tensor.permutation
                    for tensor in (artifact.inputs[place] for artifact in bundle.artifacts)
                    if tensor.permutation is not None
                )
            ),
        )
        for place, spec in enumerate(bundle.inputs)
    )


def batch_axis(shape: Shape, fixed_batch: int | None) -> int | None:
    """Return the axis of the batch: the dynamic dimension of that name, or a first axis of the fixed batch's size."""
    if BATCH in shape:
        return shape.index(BATCH)
    return 0 if shape and fixed_batch is not None and shape[0] == fixed_batch else None


def unknown_input(name: str, inputs: Sequence[ModelInput], model: str, place: str) -> IrbenchError:
    """Return the error about an array or a constant for an input that the model does not have."""
    known = [model_input.name for model_input in inputs]
    return IrbenchError(
        f"{place} names the input {name!r}, which {model} does not have.",
        hint=f"{did_you_mean(name, known)}Inputs: {', '.join(known)}.",
    )


def fit(array: Array, model_input: ModelInput, place: str) -> Array:
    """Return an array with all axes of the logical input, in their order.

    The batch axis may be missing or have any size, and the axes may be in the order of an artifact.
    """
    tensor = model_input.spec.tensor
    for candidate in _candidates(array, model_input):
        if _fits(candidate.shape, tensor, model_input.batch_axis):
            return candidate
    raise IrbenchError(
        f"{place} has the shape {shape_text(array.shape)}, and the input {tensor.name} takes "
        f"{shape_text(tensor.shape)}.",
        hint="Give arrays of that shape; the batch axis may be left out or have another size.",
    )


def convert(array: Array, model_input: ModelInput, place: str) -> Array:
    """Return an array with the input's dtype: integers exactly, floating-point numbers rounded."""
    dtype = np.dtype(model_input.spec.tensor.dtype)
    if array.dtype == dtype:
        return array
    if array.dtype.type is np.void and array.dtype.itemsize == dtype.itemsize and dtype.kind == "V":
        return array.view(dtype)  # NumPy writes dtypes of extensions, such as bfloat16, as bytes without a meaning
    if _is_safe(array, dtype):
        with np.errstate(over="ignore", invalid="ignore"):
            converted = array.astype(dtype)
        if _keeps_values(array, converted):
            return converted
    raise IrbenchError(
        f"{place} contains {array.dtype}, and the input {model_input.name} takes {dtype}; the conversion would change "
        "values.",
        hint=f"Convert the array yourself: array.astype({dtype.name!r})",
    )


def _candidates(array: Array, model_input: ModelInput) -> Iterable[Array]:
    """Yield the forms that an array may be meant in: as it is, in an artifact's layout, and without a batch axis."""
    tensor, axis = model_input.spec.tensor, model_input.batch_axis
    rank = len(tensor.shape)
    if array.ndim == rank:
        yield array
        yield from (array.transpose(np.argsort(layout)) for layout in model_input.layouts)
    elif array.ndim == rank - 1 and axis is not None:
        yield np.expand_dims(array, axis)
        for layout in model_input.layouts:
            yield np.expand_dims(array, layout.index(axis)).transpose(np.argsort(layout))
    if array.size == 1 and all(size == 1 for size in tensor.shape):
        yield array.reshape((1,) * rank)


def _fits(shape: Sequence[int], tensor: TensorSpec, axis: int | None) -> bool:
    return len(shape) == len(tensor.shape) and all(
        size > 0 and (isinstance(expected, str) or place == axis or size == expected)
        for place, (size, expected) in enumerate(zip(shape, tensor.shape, strict=True))
    )


def _is_safe(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether a conversion between two kinds of dtypes can keep values."""
    numbers, texts = "biuf", "OSTU"
    known = {"b": numbers, "i": numbers, "u": numbers, "f": "f", "S": texts, "U": texts, "O": texts}
    return _kind(dtype) in known.get(_kind(array.dtype), "")


def _kind(dtype: np.dtype[Any]) -> str:
    return "f" if dtype.kind == "V" and dtype.type is not np.void else dtype.kind


def _keeps_values(original: Array, converted: Array) -> bool:
    """Whether integers are equal, and finite numbers finite."""
    if _kind(original.dtype) in "biu":
        return all(
            np.array_equal(converted.astype(dtype), original.astype(dtype)) for dtype in (original.dtype, np.float64)
        )
    if _kind(original.dtype) == "f":
        before, after = (np.isfinite(array.astype(np.float64)) for array in (original, converted))
        return bool(np.array_equal(before, after))
    return True


def by_alias(inputs: Sequence[ModelInput]) -> Mapping[str, ModelInput]:
    """Return the inputs by every name that they have, logical names first."""
    aliases = {alias: model_input for model_input in inputs for alias in model_input.aliases}
    return {**aliases, **{model_input.name: model_input for model_input in inputs}}
