"""Fuse group normalisation (Wu and He, 2018) into InstanceNormalization.

With m = mean(x), d = x - m, v = mean(d * d), s = 1 / sqrt(v + epsilon), means over all axes but the batch and another:

1. x * (s * scale) + (-m * (s * scale) + bias)   -> Reshape, InstanceNormalization(x), Reshape, * scale, + bias
2. d / sqrt(v + epsilon), or d * s               -> Reshape, InstanceNormalization(x), Reshape

The number of groups is known; scale, bias and epsilon are constants, scale and bias of the groups and the channels in
each. A scale and bias of the groups alone are parameters of the InstanceNormalization. A mean over the last axis alone
is that of a LayerNormalization. Groups that are not the second axis become it; where that undoes a Transpose before,
``remove_redundant`` drops both.

ONNX's GroupNormalization is not written: ONNX Runtime has no kernel for it and computes the variance as the mean of the
squares minus the square of the mean, which is off by 0.5 where the mean is 1,000, and slower than what was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer, reshape_target
from irbench.onnx.sizes import Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, scalar, weight
from irbench.optimizer.pass_tools.moments import are_moments, forms
from irbench.optimizer.pass_tools.normalization import axes_of_mean
from irbench.optimizer.pass_tools.rules import Rule, apply_rules
from irbench.optimizer.passes import Rewrite
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    import onnx_ir as ir


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
        and sizes[order[1]].number is not None
        and _is_restorable([sizes[axis] for axis in order])
    )


def _order(x: ir.Value, mean: ir.Value) -> list[int] | None:
    """Return the axes with the batch first, then the groups, then those behind the groups and those before."""
    axes, rank = axes_of_mean(x, mean), len(x.shape or ())
    kept = [axis for axis in range(rank) if axis not in (axes or ())]
    if axes is None or len(kept) != 2 or kept[0] != 0 or rank < 3 or axes == [rank - 1]:
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


def _flat(sizes: Sequence[Size]) -> list[Size]:
    """Return the sizes with the axes (batch, groups, others)."""
    return [*sizes[:2], product(sizes[2:])]


def _is_restorable(sizes: Sequence[Size]) -> bool:
    """Whether constants reshape a tensor to (batch, groups, others), and back."""
    return reshape_target(sizes, _flat(sizes)) is not None and reshape_target(_flat(sizes), sizes) is not None


def _normalise(op: Any, x: ir.Value, mean: ir.Value, epsilon: ir.Value, **optional: Any) -> Any:
    order, sizes, graph = _order(x, mean), sizes_of(x), mean.graph
    assert order is not None
    assert sizes is not None
    assert graph is not None
    ordered = [sizes[axis] for axis in order]
    affine = [_aligned(optional.get(name), sizes, order) for name in ("scale", "bias")]
    of_groups = all(array is None or array.shape[2] == 1 for array in affine)
    parameters = [
        _of_groups(array if of_groups else None, ordered[1], rest) for array, rest in zip(affine, (1, 0), strict=True)
    ]
    builder = _Builder(op, mean)
    value = builder.reshape(builder.transpose(x, order), ordered, _flat(ordered))
    value = op.InstanceNormalization(value, *map(builder.constant, parameters), epsilon=scalar(epsilon))
    if not of_groups:
        channels = [ordered[0], product(ordered[1:3]), *ordered[3:]]
        value = builder.reshape(value, _flat(ordered), channels)
        for array, apply in zip(affine, (op.Mul, op.Add), strict=True):
            value = value if array is None else apply(value, builder.constant(_of_channels(array, ordered)))
        value = builder.reshape(value, channels, ordered)
    else:
        value = builder.reshape(value, _flat(ordered), ordered)
    return builder.transpose(value, [order.index(axis) for axis in range(len(order))])


class _Builder:
    """Builds nodes beside a value, with constants of the graph."""

    def __init__(self, op: Any, like: ir.Value) -> None:
        assert like.graph is not None
        self._op, self._graph, self._like = op, like.graph, like

    def constant(self, array: Array) -> ir.Value:
        return add_constant(self._graph, array, self._like)

    def reshape(self, value: Any, before: Sequence[Size], after: Sequence[Size]) -> Any:
        return self._op.Reshape(value, self.constant(np.array(reshape_target(before, after), np.int64)))

    def transpose(self, value: Any, order: Sequence[int]) -> Any:
        return value if list(order) == sorted(order) else self._op.Transpose(value, perm=list(order))


def _of_groups(array: Array | None, groups: Size, otherwise: float) -> Array:
    values = np.float32(otherwise) if array is None else array.reshape(-1)
    return np.broadcast_to(values, (groups.factor,)).astype(np.float32)


def _of_channels(array: Array, sizes: Sequence[Size]) -> Array:
    """Return a number for each channel of each group, with the axes (channels, 1, ..)."""
    whole = np.broadcast_to(array, (1, sizes[1].factor, sizes[2].factor, *array.shape[3:]))
    return whole.reshape(-1, *array.shape[3:])


fuse_group_normalization: Pass = Rewrite(
    "fuse_group_normalization", "group normalisation in one node between reshapes", _fuse_group_normalization
)
