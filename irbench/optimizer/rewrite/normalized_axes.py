"""Which axes a mean normalises over, and constants that scale or shift along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.sizes import sizes_of
from irbench.optimizer.rewrite.edit import weight
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

_FLOATS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")


def axes_of_mean(x: ir.Value, mean: ir.Value) -> list[int] | None:
    """Return the axes of floating-point numbers ``x`` that a ReduceMean is over, if it keeps them as ones.

    ``None`` where the axes, the type or the sizes are not known.
    """
    node, sizes = mean.producer(), sizes_of(x)
    if node is None or sizes is None or x.dtype is None or x.dtype.name not in _FLOATS:
        return None
    given = weight(node.inputs[1]) if len(node.inputs) > 1 else node.attributes.get_ints("axes")
    if given is None or node.attributes.get_int("keepdims", 1) != 1:
        return None
    return sorted(int(axis) % len(sizes) for axis in given)


def last_axes(x: ir.Value, mean: ir.Value, order: Sequence[int]) -> list[int] | None:
    """Return the sizes of the axes that a mean is over, if they are the last ones in this order and stay as ones."""
    given, sizes = axes_of_mean(x, mean), sizes_of(x)
    if given is None or sizes is None:
        return None
    axes = sorted(order.index(axis) for axis in given)
    numbers = [sizes[axis].number for axis in order[len(sizes) - len(axes) :]]
    known = [number for number in numbers if number is not None]
    last = axes == list(range(len(sizes) - len(axes), len(sizes)))
    return known if axes and last and len(known) == len(numbers) else None


def as_axes(value: ir.Value | None, axes: Sequence[int], order: Sequence[int]) -> Array | None:
    """Return a constant, its axes in this order, as large as those that are normalised, if it is no larger."""
    array = weight(value)
    if array is None or array.ndim > len(order):
        return None
    whole = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)
    own = whole.shape[len(order) - len(axes) :]
    if whole.size != np.prod(own) or any(length not in (1, axis) for length, axis in zip(own, axes, strict=True)):
        return None
    return np.broadcast_to(whole.reshape(own), axes)
