"""Fuse group normalisation (Wu and He, 2018) into InstanceNormalization.

With m = mean(x), d = x - m, v = mean(d * d), s = 1 / sqrt(v + epsilon), means over all axes but the batch and another:

1. x * (s * scale) + (-m * (s * scale) + bias)   -> Reshape, InstanceNormalization(x), Reshape, * scale, + bias
2. d / sqrt(v + epsilon), or d * s               -> Reshape, InstanceNormalization(x), Reshape

Scale, bias and epsilon are constants, scale and bias of the groups and the channels in each. Groups that are not the
second axis become it; where that undoes a Transpose before, ``remove_redundant`` drops both.

ONNX's GroupNormalization is not written: ONNX Runtime has no kernel for it and computes the variance as the mean of the
squares minus the square of the mean, which is off by 0.5 where the mean is 1,000, and slower than what was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer, reshape_target
from irbench.onnx.sizes import Size, product, sizes_of
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.rewrite.edit import add_constant, scalar, weight
from irbench.optimizer.rewrite.moments import are_moments, forms
from irbench.optimizer.rewrite.normalized_axes import axes_of_mean
from irbench.optimizer.rewrite.rules import Rule, apply_rules
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["fuse_group_normalization"]


def _fuse_group_normalization(model: ir.Model) -> bool:
    infer(model)
    return apply_rules(model, [Rule(form, _normalise, _normalises) for form in forms()])


def _normalises(
    _: Any, x: ir.Value, mean: ir.Value, variance: ir.Value, epsilon: ir.Value, **optional: ir.Value | None
) -> bool:
    order, sizes = _order(x, mean), sizes_of(x)
    affine = [optional[name] for name in ("scale", "bias") if optional.get(name) is not None]
    return (
        order is not None
        and sizes is not None
        and x.dtype is not None
        and x.dtype.name == "FLOAT"
        and axes_of_mean(x, mean) == axes_of_mean(x, variance)
        and are_moments(x, epsilon, **optional)
        and all(_aligned(constant, sizes, order) is not None for constant in affine)
        and None not in _targets([sizes[axis] for axis in order])
    )


def _order(x: ir.Value, mean: ir.Value) -> list[int] | None:
    """Return the axes with the batch first, then the groups, then those behind the groups and those before."""
    axes, rank = axes_of_mean(x, mean), len(x.shape or ())
    kept = [axis for axis in range(rank) if axis not in (axes or ())]
    if axes is None or len(kept) != 2 or kept[0] != 0 or rank < 3:
        return None
    return [0, *range(kept[1], rank), *range(1, kept[1])]


def _aligned(constant: ir.Value | None, sizes: Sequence[Size], order: Sequence[int]) -> Array | None:
    """Return a scale or bias with its axes in order, those of groups and channels whole, if it has no others."""
    array, numbers = weight(constant), [sizes[axis].number for axis in order[1:3]]
    if array is None or array.ndim > len(order):
        return None
    whole = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)
    own = whole.shape[1:3]
    if whole.size != np.prod(own) or any(length not in (1, size) for length, size in zip(own, numbers, strict=True)):
        return None
    return whole


def _targets(sizes: Sequence[Size]) -> tuple[list[int] | None, list[int] | None]:
    """Return what reshapes a tensor to (batch, groups, others), and back."""
    flat = [*sizes[:2], product(sizes[2:])]
    return reshape_target(sizes, flat), reshape_target(flat, sizes)


def _normalise(op: Any, x: ir.Value, mean: ir.Value, epsilon: ir.Value, **optional: Any) -> Any:
    order, sizes, graph = _order(x, mean), sizes_of(x), mean.graph
    assert order is not None
    assert sizes is not None
    assert graph is not None
    ordered = [sizes[axis] for axis in order]
    groups = ordered[1].number or 1
    there, back = (add_constant(graph, np.array(target, np.int64), mean) for target in _targets(ordered))
    moved = order != sorted(order)
    parameters = [add_constant(graph, make(groups, np.float32), mean) for make in (np.ones, np.zeros)]
    flat = op.Reshape(op.Transpose(x, perm=order) if moved else x, there)
    value = op.Reshape(op.InstanceNormalization(flat, *parameters, epsilon=scalar(epsilon)), back)
    for name, apply in (("scale", op.Mul), ("bias", op.Add)):
        array = _aligned(optional.get(name), sizes, order)
        value = value if array is None else apply(value, add_constant(graph, array, mean))
    return op.Transpose(value, perm=[order.index(axis) for axis in range(len(order))]) if moved else value


fuse_group_normalization: Pass = Rewrite(
    "fuse_group_normalization", "group normalisation in one node between reshapes", _fuse_group_normalization
)
