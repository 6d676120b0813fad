"""Fuse what normalises over the last axes into LayerNormalization.

With m = mean(x), d = x - m, v = mean(d * d), s = 1 / sqrt(v + epsilon):

1. x * (s * scale) + (-m * (s * scale) + bias)   -> LayerNormalization(x, scale, bias)     (Keras; scale, bias optional)
2. d / sqrt(v + epsilon), or d * s               -> LayerNormalization(x, 1)
3. LayerNormalization(x, a[, b]) * c             -> LayerNormalization(x, a * c[, b * c])
4. LayerNormalization(x, a[, b]) + c             -> LayerNormalization(x, a, b + c)
5. Transpose(what rules 1 or 2 fuse), where it   -> rule 1 or 2 of Transpose(x)            (channels first, as tf2onnx
   puts the axes last that the mean is over                                                 writes for convolutions)

Scale, bias and epsilon are constants, and no scale or bias reaches beyond the axes that are normalised. d * d may be a
power, s a Reciprocal or a power.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.rewrite.edit import add_constant, scalar, weight
from irbench.optimizer.rewrite.rules import ANY, ORDERS, Rule, any_order, apply_rules, either, holds, number_beside
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["fuse_layer_normalization"]

Build = Callable[..., Any]

_FLOATS = ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")


def _fuse_layer_normalization(model: ir.Model) -> bool:
    infer(model)
    core: list[Build] = [_divided, *(partial(form, pair) for form in (_keras, _multiplied) for pair in ORDERS)]
    absorbing = [Rule(partial(_scaled, pair), _scale, _absorbs) for pair in ORDERS]
    absorbing += [Rule(partial(_shifted, pair), _shift, _absorbs) for pair in ORDERS]
    changed = apply_rules(model, [Rule(form, _normalise, _normalises) for form in (*core, *map(_turned, core))])
    return apply_rules(model, absorbing) or changed


def _keras(pair: Build, op: Any, x: Any, epsilon: Any, two: Any, scale: Any, bias: Any) -> Any:
    mean, _, spread = _moments(op, x, epsilon, two)
    inverse = op.Reciprocal(op.Sqrt(spread))
    factor = either(any_order(op.Mul, inverse, scale), inverse)
    offset = any_order(op.Mul, op.Neg(mean), factor)
    shifted = either(any_order(op.Add, offset, bias), op.Sub(bias, any_order(op.Mul, mean, factor)), offset)
    return op.Add(*pair(any_order(op.Mul, x, factor), shifted))


def _divided(op: Any, x: Any, epsilon: Any, two: Any) -> Any:
    _, difference, spread = _moments(op, x, epsilon, two)
    return op.Div(difference, op.Sqrt(spread))


def _multiplied(pair: Build, op: Any, x: Any, epsilon: Any, two: Any, exponent: Any) -> Any:
    _, difference, spread = _moments(op, x, epsilon, two)
    return op.Mul(*pair(difference, either(op.Reciprocal(op.Sqrt(spread)), op.Pow(spread, exponent))))


def _turned(form: Build) -> Build:
    """Return the same with a Transpose at its end."""

    @wraps(form)
    def turned(op: Any, *values: Any) -> Any:
        return op.Transpose(form(op, *values), _outputs=["turned"], **ANY)

    return turned


def _moments(op: Any, x: Any, epsilon: Any, two: Any) -> tuple[Any, Any, Any]:
    """Return mean, difference from it, and variance with epsilon."""
    mean = op.ReduceMean(x, _outputs=["mean"], **ANY)
    difference = op.Sub(x, mean)
    square = either(op.Mul(difference, difference), op.Pow(difference, two))
    variance = op.ReduceMean(square, _outputs=["variance"], **ANY)
    return mean, difference, op.Add(variance, epsilon)


def _normalises(
    _: Any, x: ir.Value, mean: ir.Value, variance: ir.Value, epsilon: ir.Value, **optional: ir.Value | None
) -> bool:
    order = _order(x, optional.get("turned"))
    axes = _normalised(x, mean, order)
    constants = [one for name in ("scale", "bias") if (one := optional.get(name)) is not None]
    return (
        axes is not None
        and axes == _normalised(x, variance, order)
        and (number_beside(epsilon, x) or 0) > 0
        and all(_as_axes(constant, axes, order) is not None for constant in constants)
        and (optional.get("two") is None or holds(optional["two"], 2, x))
        and (optional.get("exponent") is None or holds(optional["exponent"], -0.5, x))
    )


def _order(x: ir.Value, turned: ir.Value | None) -> list[int]:
    """Return which axis of x is where when it is normalised."""
    node, rank = turned.producer() if turned is not None else None, len(x.shape or ())
    return [*range(rank)] if node is None else [*node.attributes.get_ints("perm", range(rank)[::-1])]


def _normalised(x: ir.Value, mean: ir.Value, order: list[int]) -> list[int] | None:
    """Return the sizes of the axes that a mean is over, if they are the last ones in this order and stay as ones."""
    node, sizes = mean.producer(), sizes_of(x)
    if node is None or sizes is None or x.dtype is None or x.dtype.name not in _FLOATS:
        return None
    given = weight(node.inputs[1]) if len(node.inputs) > 1 else node.attributes.get_ints("axes")
    if given is None or node.attributes.get_int("keepdims", 1) != 1:
        return None
    axes = sorted(order.index(int(axis) % len(sizes)) for axis in given)
    numbers = [sizes[axis].number for axis in order[len(sizes) - len(axes) :]]
    known = [number for number in numbers if number is not None]
    last = axes == list(range(len(sizes) - len(axes), len(sizes)))
    return known if axes and last and len(known) == len(numbers) else None


def _as_axes(value: ir.Value | None, axes: list[int], order: list[int]) -> Array | None:
    """Return a constant, its axes in this order, as large as those that are normalised, if it is no larger."""
    array = weight(value)
    if array is None or array.ndim > len(order):
        return None
    whole = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)
    own = whole.shape[len(order) - len(axes) :]
    if whole.size != np.prod(own) or any(length not in (1, axis) for length, axis in zip(own, axes, strict=True)):
        return None
    return np.broadcast_to(whole.reshape(own), axes)


def _normalise(
    op: Any, x: ir.Value, mean: ir.Value, epsilon: ir.Value, turned: ir.Value | None = None, **optional: Any
) -> Any:
    order, graph = _order(x, turned), mean.graph
    axes = _normalised(x, mean, order)
    assert axes is not None
    assert graph is not None
    assert x.dtype is not None
    given = [_as_axes(optional.get(name), axes, order) for name in ("scale", "bias")]
    scale = np.ones(axes, x.dtype.numpy()) if given[0] is None else given[0]
    arrays = [scale] if given[1] is None else [scale, given[1]]
    constants = [add_constant(graph, array, mean) for array in arrays]
    source = x if turned is None else op.Transpose(x, perm=order)
    return op.LayerNormalization(source, *constants, axis=-len(axes), epsilon=scalar(epsilon))


def _scaled(pair: Build, op: Any, x: Any, c: Any) -> Any:
    return op.Mul(*pair(op.LayerNormalization(x, _outputs=["norm"], **ANY), c))


def _shifted(pair: Build, op: Any, x: Any, c: Any) -> Any:
    return op.Add(*pair(op.LayerNormalization(x, _outputs=["norm"], **ANY), c))


def _absorbs(_: Any, x: ir.Value, norm: ir.Value, c: ir.Value, **__: Any) -> bool:
    node = norm.producer()
    arrays = [weight(tensor) for tensor in node.inputs[1:]] if node is not None else []
    first = arrays[0] if arrays else None
    if first is None or any(array is None for array in arrays) or x.shape is None:
        return False
    return _as_axes(c, list(first.shape), _order(x, None)) is not None


def _scale(op: Any, norm: ir.Value, c: ir.Value, **_: Any) -> Any:
    return _changed(op, norm, [lambda scale, factor: scale * factor] * 2, c)


def _shift(op: Any, norm: ir.Value, c: ir.Value, **_: Any) -> Any:
    return _changed(op, norm, [lambda scale, _: scale, lambda bias, shift: bias + shift], c, bias=True)


def _changed(op: Any, norm: ir.Value, changes: list[Any], c: ir.Value, bias: bool = False) -> Any:
    """Return the same normalisation with scale and bias changed by a constant."""
    node, graph = norm.producer(), norm.graph
    assert node is not None
    assert graph is not None
    arrays = [array for tensor in node.inputs[1:] if (array := weight(tensor)) is not None]
    if bias and len(arrays) == 1:
        arrays.append(np.zeros_like(arrays[0]))
    other = _as_axes(c, list(arrays[0].shape), _order(node.inputs[0], None) if node.inputs[0] is not None else [])
    constants = [
        add_constant(graph, change(array, other), norm) for change, array in zip(changes, arrays, strict=False)
    ]
    return op.LayerNormalization(node.inputs[0], *constants, **node.attributes)


fuse_layer_normalization: Pass = Rewrite(
    "fuse_layer_normalization", "mean, variance, scale and bias in one node", _fuse_layer_normalization, opset=17
)
