"""Fuse root mean square normalisation (Zhang and Sennrich, 2019) over the last axes into RMSNormalization.

With r = sqrt(mean(x * x) + epsilon):

1. x * (1 / r * scale)                             -> RMSNormalization(x, scale)         (as TensorFlow regroups Keras)
2. x * (1 / r), or x / r                           -> RMSNormalization(x, 1)
3. RMSNormalization(x, a) * c                      -> RMSNormalization(x, a * c)
4. Cast(RMSNormalization(Cast(x), a)), x float16,  -> RMSNormalization(x, a), which computes in float32 itself
   float32 in between, a exact in float16

Scale and epsilon are constants, and no scale reaches beyond the axes that are normalised. x * x may be a power, 1 / r a
Reciprocal, a quotient or a power. Gemma's 1 + scale is a constant by the time this pass runs. A mean that several
normalisations share is computed for each of them first.

Rule 4 rounds before it scales where a model that casts after its scale rounds once; both are within the rounding of
float16.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.optimizer.pass_tools.edit import add_constant, scalar, weight
from irbench.optimizer.pass_tools.normalization import as_axes, last_axes, unshare_moments
from irbench.optimizer.pass_tools.rules import ANY, ORDERS, Rule, any_order, apply_rules, either, holds, number_beside
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

Build = Callable[..., Any]


def _fuse_rms_normalization(model: ir.Model) -> bool:
    infer(model)
    unshared = unshare_moments(model)
    core: list[Build] = [_divided, *(partial(form, pair) for form in (_scaled_first, _multiplied) for pair in ORDERS)]
    changed = apply_rules(model, [Rule(form, _normalise, _normalises) for form in core])
    absorbing = [Rule(partial(_scaled, pair), _scale, _absorbs) for pair in ORDERS]
    return apply_rules(model, [*absorbing, Rule(_widened, _narrow, _narrows)]) or changed or unshared


def _spread(op: Any, x: Any, epsilon: Any, two: Any) -> Any:
    square = either(op.Mul(x, x), op.Pow(x, two))
    return op.Add(op.ReduceMean(square, _outputs=["mean"], **ANY), epsilon)


def _inverse(op: Any, x: Any, epsilon: Any, two: Any, one: Any, exponent: Any) -> Any:
    spread = _spread(op, x, epsilon, two)
    root = op.Sqrt(spread)
    return either(op.Reciprocal(root), op.Div(one, root), op.Pow(spread, exponent))


def _scaled_first(pair: Build, op: Any, x: Any, epsilon: Any, two: Any, one: Any, exponent: Any, scale: Any) -> Any:
    return op.Mul(*pair(x, any_order(op.Mul, _inverse(op, x, epsilon, two, one, exponent), scale)))


def _multiplied(pair: Build, op: Any, x: Any, epsilon: Any, two: Any, one: Any, exponent: Any) -> Any:
    return op.Mul(*pair(x, _inverse(op, x, epsilon, two, one, exponent)))


def _divided(op: Any, x: Any, epsilon: Any, two: Any) -> Any:
    return op.Div(x, op.Sqrt(_spread(op, x, epsilon, two)))


def _normalises(_: Any, x: ir.Value, mean: ir.Value, epsilon: ir.Value, **optional: ir.Value | None) -> bool:
    axes, scale = last_axes(x, mean, _order(x)), optional.get("scale")
    numbers = {"two": 2.0, "one": 1.0, "exponent": -0.5}
    return (
        axes is not None
        and (number_beside(epsilon, x) or 0) > 0
        and (scale is None or as_axes(scale, axes, _order(x)) is not None)
        and all(optional.get(name) is None or holds(optional[name], numbers[name], x) for name in numbers)
    )


def _order(x: ir.Value | None) -> list[int]:
    return [*range(len(x.shape))] if x is not None and x.shape is not None else []


def _normalise(op: Any, x: ir.Value, mean: ir.Value, epsilon: ir.Value, **optional: Any) -> Any:
    axes, graph = last_axes(x, mean, _order(x)), mean.graph
    assert axes is not None
    assert graph is not None
    assert x.dtype is not None
    factors = as_axes(optional.get("scale"), axes, _order(x))
    scale = np.ones(axes, x.dtype.numpy()) if factors is None else factors
    return op.RMSNormalization(x, add_constant(graph, scale, mean), axis=-len(axes), epsilon=scalar(epsilon))


def _scaled(pair: Build, op: Any, x: Any, a: Any, c: Any) -> Any:
    return op.Mul(*pair(op.RMSNormalization(x, a, _outputs=["norm"], **ANY), c))


def _absorbs(_: Any, x: ir.Value, a: ir.Value, c: ir.Value, **__: Any) -> bool:
    scale = weight(a)
    return scale is not None and as_axes(c, scale.shape, _order(x)) is not None


def _scale(op: Any, x: ir.Value, norm: ir.Value, a: ir.Value, c: ir.Value) -> Any:
    scale, node, graph = weight(a), norm.producer(), norm.graph
    assert scale is not None
    assert node is not None
    assert graph is not None
    factor = as_axes(c, scale.shape, _order(x))
    return op.RMSNormalization(x, add_constant(graph, scale * factor, norm), **node.attributes)


def _widened(op: Any, x: Any, a: Any) -> Any:
    wide = op.Cast(x, _outputs=["wide"], **ANY)
    return op.Cast(op.RMSNormalization(wide, a, _outputs=["norm"], **ANY), _outputs=["narrow"], **ANY)


def _narrows(_: Any, x: ir.Value, a: ir.Value, wide: ir.Value, narrow: ir.Value, **__: Any) -> bool:
    scale = weight(a)
    types = [value.dtype.name if value.dtype is not None else "" for value in (x, wide, narrow)]
    return (
        types == ["FLOAT16", "FLOAT", "FLOAT16"]
        and scale is not None
        and bool((scale.astype(np.float16).astype(scale.dtype) == scale).all())
    )


def _narrow(op: Any, x: ir.Value, a: ir.Value, norm: ir.Value, **_: Any) -> Any:
    scale, node, graph = weight(a), norm.producer(), norm.graph
    assert scale is not None
    assert node is not None
    assert graph is not None
    return op.RMSNormalization(x, add_constant(graph, scale.astype(np.float16), norm), **node.attributes)


fuse_rms_normalization: Pass = Rewrite(
    "fuse_rms_normalization", "root mean square and scale in one node", _fuse_rms_normalization, opset=23
)
