"""Normalisations: which axes a mean is over, scales and shifts along them, and moments that several share.

Blocks that run side by side normalise the same value, each with a scale and bias of its own; exporters and
``remove_redundant`` then compute mean and variance once. A fusion asks that nobody else reads what it replaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools.edit import insert, is_node, weight
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
    axes = weight(node.inputs[1]) if len(node.inputs) > 1 else node.attributes.get_ints("axes")
    if axes is None or node.attributes.get_int("keepdims", 1) != 1:
        return None
    return sorted(int(axis) % len(sizes) for axis in axes)


def last_axes(x: ir.Value, mean: ir.Value, order: Sequence[int]) -> list[int] | None:
    """Return the sizes of the axes that a mean is over, if they are the last ones in this order and stay as ones."""
    mean_axes, sizes = axes_of_mean(x, mean), sizes_of(x)
    if mean_axes is None or sizes is None:
        return None
    axes = sorted(order.index(axis) for axis in mean_axes)
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


def unshare_moments(model: ir.Model) -> bool:
    """Copy what computes the reciprocal of a standard deviation for each constant that it is multiplied with."""
    inverses = [node for node in model.graph if is_node(node.outputs[0], "Reciprocal")]
    return sum([_unshare(node) for node in inverses]) > 0


def _unshare(inverse: ir.Node) -> bool:
    chain, factors = _moments(inverse), [use.node for use in inverse.outputs[0].uses()]
    if not chain or len(factors) < 2 or inverse.outputs[0].is_graph_output():
        return False
    if not all(_is_scaled(factor) and factor.graph is inverse.graph for factor in factors):
        return False
    for factor in factors[1:]:
        copies = _copies(chain, factor)
        for node in (factor, *[use.node for use in factor.outputs[0].uses()]):
            for place, value in enumerate(node.inputs):
                if value in copies:
                    node.replace_input_with(place, copies[value])
    return True


def _is_scaled(factor: ir.Node) -> bool:
    return is_node(factor.outputs[0], "Mul") and any(weight(value) is not None for value in factor.inputs)


def _moments(inverse: ir.Node) -> list[ir.Node]:
    """Return what computes 1 / sqrt(mean(d * d) + epsilon), d = x or x - mean(x), in order; none if it is another.

    The mean is over the last axes. Its negative is part of what is returned.
    """
    nodes = [inverse]
    for operation in ("Sqrt", "Add", "ReduceMean", "Mul", "Sub"):
        node = _producer(nodes[-1], operation)
        if node is None and not (operation == "Sub" and len(nodes) == 5):
            return []
        nodes += [node] if node is not None else []
    variance, difference = nodes[3], nodes[-1]
    x = difference.inputs[0]
    if x is None or last_axes(x, variance.outputs[0], range(len(x.shape or ()))) is None:
        return []
    mean = _producer(difference, "ReduceMean") if len(nodes) == 6 else None
    if mean is not None:
        negatives = [use.node for use in mean.outputs[0].uses() if is_node(use.node.outputs[0], "Neg")]
        nodes += [*negatives, mean]
    return nodes[::-1] if len(nodes) in (5, 7, 8) else []


def _producer(node: ir.Node, operation: str) -> ir.Node | None:
    return next((value.producer() for value in node.inputs if value is not None and is_node(value, operation)), None)


def _copies(chain: Sequence[ir.Node], before: ir.Node) -> dict[ir.Value, ir.Value]:
    copies: dict[ir.Value, ir.Value] = {}
    for node in chain:
        operands = [copies.get(value, value) if value is not None else None for value in node.inputs]
        copy = insert(before, node.op_type, operands, node.attributes)
        copy.type, copy.shape = node.outputs[0].type, node.outputs[0].shape
        copies[node.outputs[0]] = copy
    return copies
