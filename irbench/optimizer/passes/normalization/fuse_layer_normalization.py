"""Fuse what normalises over the last axes into LayerNormalization.

With m = mean(x), d = x - m, v = mean(d * d), s = 1 / sqrt(v + epsilon):

1. x * (s * scale) + (-m * (s * scale) + bias)   -> LayerNormalization(x, scale, bias)     (Keras; scale, bias optional)
2. d / sqrt(v + epsilon), or d * s               -> LayerNormalization(x, 1), or (x, scale) of d * (s * scale)
3. LayerNormalization(x, a[, b]) * c             -> LayerNormalization(x, a * c[, b * c])
4. LayerNormalization(x, a[, b]) + c             -> LayerNormalization(x, a, b + c)
5. Transpose(what rules 1 or 2 fuse), where it   -> rule 1 or 2 of Transpose(x)            (channels first, as tf2onnx
   puts the axes last that the mean is over                                                 writes for convolutions)

Mean and variance that several normalisations share are computed for each of them first.

Scale, bias and epsilon are constants, and no scale or bias reaches beyond the axes that are normalised. d * d may be a
power, s a Reciprocal or a power.
"""

from __future__ import annotations

from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.optimizer.pass_tools.edit import add_constant, scalar, weight
from irbench.optimizer.pass_tools.moments import Build, are_moments, forms
from irbench.optimizer.pass_tools.normalization import as_axes, last_axes, unshare_moments
from irbench.optimizer.pass_tools.rules import ANY, ORDERS, Rule, apply_rules
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _fuse_layer_normalization(model: ir.Model) -> bool:
    infer(model)
    unshared = unshare_moments(model)
    absorbing = [Rule(partial(_scaled, pair), _scale, _absorbs) for pair in ORDERS]
    absorbing += [Rule(partial(_shifted, pair), _shift, _absorbs) for pair in ORDERS]
    changed = apply_rules(model, [Rule(form, _normalise, _normalises) for form in _forms()])
    return apply_rules(model, absorbing) or changed or unshared


@cache
def _forms() -> list[Build]:
    core = forms()
    return [*core, *map(_turned, core)]


def _turned(form: Build) -> Build:
    @wraps(form)
    def turned(op: Any, *values: Any) -> Any:
        return op.Transpose(form(op, *values), _outputs=["turned"], **ANY)

    return turned


def _normalises(
    _: Any, x: ir.Value, mean: ir.Value, variance: ir.Value, epsilon: ir.Value, **optional: ir.Value | None
) -> bool:
    order = _order(x, optional.get("turned"))
    axes = last_axes(x, mean, order)
    constants = [one for name in ("scale", "bias") if (one := optional.get(name)) is not None]
    return (
        axes is not None
        and axes == last_axes(x, variance, order)
        and are_moments(x, epsilon, **optional)
        and all(as_axes(constant, axes, order) is not None for constant in constants)
    )


def _order(x: ir.Value, turned: ir.Value | None) -> list[int]:
    node, rank = turned.producer() if turned is not None else None, len(x.shape or ())
    return [*range(rank)] if node is None else [*node.attributes.get_ints("perm", range(rank)[::-1])]


def _normalise(
    op: Any, x: ir.Value, mean: ir.Value, epsilon: ir.Value, turned: ir.Value | None = None, **optional: Any
) -> Any:
    order, graph = _order(x, turned), mean.graph
    axes = last_axes(x, mean, order)
    assert axes is not None
    assert graph is not None
    assert x.dtype is not None
    parameters = [as_axes(optional.get(name), axes, order) for name in ("scale", "bias")]
    scale = np.ones(axes, x.dtype.numpy()) if parameters[0] is None else parameters[0]
    arrays = [scale] if parameters[1] is None else [scale, parameters[1]]
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
    return as_axes(c, list(first.shape), _order(x, None)) is not None


def _scale(op: Any, norm: ir.Value, c: ir.Value, **_: Any) -> Any:
    return _changed(op, norm, [lambda scale, factor: scale * factor] * 2, c)


def _shift(op: Any, norm: ir.Value, c: ir.Value, **_: Any) -> Any:
    return _changed(op, norm, [lambda scale, _: scale, lambda bias, shift: bias + shift], c, bias=True)


def _changed(op: Any, norm: ir.Value, changes: list[Any], c: ir.Value, bias: bool = False) -> Any:
    node, graph = norm.producer(), norm.graph
    assert node is not None
    assert graph is not None
    arrays = [array for tensor in node.inputs[1:] if (array := weight(tensor)) is not None]
    if bias and len(arrays) == 1:
        arrays.append(np.zeros_like(arrays[0]))
    other = as_axes(c, list(arrays[0].shape), _order(node.inputs[0], None) if node.inputs[0] is not None else [])
    constants = [
        add_constant(graph, change(array, other), norm) for change, array in zip(changes, arrays, strict=False)
    ]
    return op.LayerNormalization(node.inputs[0], *constants, **node.attributes)


fuse_layer_normalization: Pass = Rewrite(
    "fuse_layer_normalization", "mean, variance, scale and bias in one node", _fuse_layer_normalization, opset=17
)
