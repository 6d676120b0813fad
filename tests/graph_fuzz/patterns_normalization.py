"""Normalisation as exporters write it: over the last axes, of a sum, by the root of squares, of groups."""

from __future__ import annotations

from typing import Any

from onnx import TensorProto

from .building import FLOAT, Builder, Value
from .patterns import pattern
from .sources import chosen, mean, reshape, source, swapped

_CHANNELS = 6


@pattern("fuse_layer_normalization", opset=13)
def layer_normalization(b: Builder) -> list[Value]:
    """Mean, variance, scale and bias, in the forms of the pass."""
    c = b.choices
    rank = c.any_of(2, 3, 3, 4)
    shape: list[Any] = [c.any_of("batch", 2), c.any_of("tokens", 3), 4, _CHANNELS][-rank:]
    dtype = c.exact("dtype", FLOAT, TensorProto.DOUBLE)
    x = chosen(b, "x", source(b, shape, dtype))
    axes = c.exact("axes", c.any_of([-1], [rank - 1], [-1], [-2, -1]), [0], [-2], [0, -1])
    keep = 1
    difference, spread, middle = _moments(b, x, axes, keep)
    form = c.any_of("divided", "multiplied", "power", "scale first", "keras", "keras")
    if form == "keras":
        return [_as_keras(b, x, middle, spread)]
    if form == "scale first":
        inverse = b.op("Reciprocal", b.op("Sqrt", spread))
        return [_affine(b, swapped(b, "Mul", difference, swapped(b, "Mul", inverse, _row(b, "scale", x))))]
    if form == "power":
        normal = swapped(b, "Mul", difference, b.op("Pow", spread, b.number(c.exact("exponent", -0.5, 0.5, -1.0), x)))
    else:
        root = b.op("Sqrt", spread)
        normal = (
            b.op("Div", difference, root)
            if form == "divided"
            else swapped(b, "Mul", difference, b.op("Reciprocal", root))
        )
    if c.likely(0.15):
        order = c.any_of([*range(rank)][::-1], [0, *range(rank - 1, 0, -1)])
        return [b.op("Transpose", normal, perm=order)]
    return [_affine(b, normal)]


def _moments(b: Builder, x: Value, axes: list[int], keep: int) -> tuple[Value, Value, Value]:
    c = b.choices
    middle = mean(b, x, axes, keep)
    difference = b.op("Sub", *c.exact("order of the difference", [x, middle], [middle, x]))
    of = c.exact("what is squared", difference, x)
    two = b.number(c.exact("power", 2.0, 3.0, 4.0), x)
    square = b.op("Mul", of, of) if c.likely(0.5) else b.op("Pow", of, two)
    variance = mean(b, square, c.exact("axes of the variance", axes, [0]), keep)
    epsilon = b.number(
        c.exact("epsilon", c.any_of(1e-3, 1e-5), 0.0, -1e-9), x, c.exact("axes of epsilon", 0, x.rank + 1)
    )
    return difference, swapped(b, "Add", variance, epsilon), middle


def _as_keras(b: Builder, x: Value, middle: Value, spread: Value) -> Value:
    c = b.choices
    inverse = b.op("Reciprocal", b.op("Sqrt", spread))
    factor = swapped(b, "Mul", inverse, _row(b, "scale", x)) if c.likely(0.7) else inverse
    other = c.exact("factor of the mean", lambda: factor, lambda: inverse)()
    if c.likely(0.3):
        offset = b.op("Sub", _row(b, "bias", x), swapped(b, "Mul", middle, other))
    else:
        offset = swapped(b, "Mul", b.op("Neg", middle), other)
        offset = swapped(b, "Add", offset, _row(b, "bias", x)) if c.likely(0.7) else offset
    return swapped(b, "Add", swapped(b, "Mul", x, factor), offset)


def _affine(b: Builder, normal: Value) -> Value:
    c = b.choices
    if c.likely(0.6):
        normal = swapped(b, "Mul", normal, _row(b, "scale", normal))
    if c.likely(0.6):
        normal = swapped(b, "Add", normal, _row(b, "bias", normal))
    return normal


def _row(b: Builder, name: str, like: Value) -> Value:
    """Return a scale or bias over the last axis, or one of another shape."""
    last = like.shape[-1]
    odd: list[tuple[int, ...]] = [(*like.shape[-2:],), (like.shape[-2], 1), (2, *[1] * (like.rank - 1), last)]
    odd += [(1,) * like.rank + (last,)]
    shape = b.choices.exact(f"shape of {name}", b.choices.any_of((last,), (last,), (1, last), (), (1,)), *odd)
    if b.choices.exact(f"{name} is constant", True, False):
        return b.weights(*shape, dtype=like.dtype)
    return b.input(shape, like.dtype)


@pattern("fuse_layer_normalization", opset=17)
def normalization_then_affine(b: Builder) -> list[Value]:
    """ONNX's own LayerNormalization, then scale and bias to absorb."""
    c = b.choices
    x = chosen(b, "x", source(b, [c.any_of("batch", 2), 3, _CHANNELS]))
    axis = c.any_of(-1, -1, -2)
    inner = x.shape[axis:]
    bias = [b.weights(*inner)] if c.likely(0.6) else []
    outputs = c.exact("outputs", "y", "ym", "y-s")
    made = b.op("LayerNormalization", x, b.weights(*inner), *bias, outputs=outputs, axis=axis, epsilon=1e-3)
    normal, *others = made if isinstance(made, list) else [made]
    return [_affine(b, normal), *others]


@pattern("fuse_skip_layer_normalization", opset=17)
def residual_normalization(b: Builder) -> list[Value]:
    """LayerNormalization(x + bias + skip), the sum read by others too."""
    c = b.choices
    shape: list[Any] = [c.any_of("batch", 2), c.any_of("tokens", 3), _CHANNELS]
    shape = c.exact("rank", shape, shape[1:], [2, *shape])
    dtype = c.exact("dtype", FLOAT, TensorProto.DOUBLE)
    x = chosen(b, "x", source(b, shape, dtype))
    if c.likely(0.5):
        x = swapped(b, "Add", x, _row(b, "bias of x", x))
    skip = source(b, c.exact("shape of skip", shape, [1, *shape[1:]], shape[1:]), dtype)
    total = swapped(b, "Add", x, skip)
    axis = c.exact("axis", c.any_of(-1, total.rank - 1), -2)
    inner = total.shape[axis:]
    scale = c.exact("shape of scale", inner, (1,))
    rest = [b.weights(*inner, dtype=dtype)] if c.exact("bias", True, False) else []
    early = [b.op("Relu", total)] if c.exact("read before", False, True) else []
    outputs = c.exact("outputs", "y", "ym")
    made = b.op("LayerNormalization", total, b.weights(*scale, dtype=dtype), *rest, outputs=outputs, axis=axis)
    results = made if isinstance(made, list) else [made]
    others = [total] if c.likely(0.2) else [b.op("Neg", total)] if c.likely(0.3) else []
    return [*results, *others, *early]


@pattern("fuse_rms_normalization", opset=13)
def root_mean_square(b: Builder) -> list[Value]:
    """x / sqrt(mean(x * x) + epsilon) * scale."""
    c = b.choices
    x = chosen(b, "x", source(b, [c.any_of("batch", 2), c.any_of("tokens", 3), _CHANNELS]))
    other = c.exact("what is squared", lambda: x, lambda: source(b, [*x.shape[:-1], _CHANNELS]))()
    two = b.number(c.exact("power", 2.0, 3.0), x)
    square = b.op("Pow", other, two) if c.likely(0.5) else b.op("Mul", other, other)
    axes = c.exact("axes", [-1], [-2], [0])
    epsilon = b.number(c.exact("epsilon", 1e-6, 0.0, -1e-9), x)
    root = b.op("Sqrt", swapped(b, "Add", mean(b, square, axes), epsilon))
    normal = b.op("Div", x, root) if c.likely(0.5) else swapped(b, "Mul", x, b.op("Reciprocal", root))
    scale = _row(b, "scale", x)
    if c.likely(0.3):  # as Gemma writes it
        scale = b.op("Add", scale, b.number(1.0, x))
    return [swapped(b, "Mul", normal, scale)]


@pattern("fuse_group_normalization", opset=17)
def group_normalization(b: Builder) -> list[Value]:
    """Channels cut into groups, normalised, and put back."""
    c = b.choices
    groups, channels = 2, 4
    x = source(b, [c.any_of("batch", 2), channels, 3, 3])
    flat = reshape(b, x, 1, [groups, channels // groups, 9])
    difference, spread, _ = _moments(b, flat, c.exact("axes", [2, 3], [1, 3], [3]), 1)
    normal = b.op("Div", difference, b.op("Sqrt", spread))
    back = reshape(b, normal, 1, [channels, 3, 3])
    shape = c.exact("shape of scale", (channels, 1, 1), (3,), (1, 3, 3))
    made = swapped(b, "Mul", back, b.weights(*shape))
    return [swapped(b, "Add", made, b.weights(channels, 1, 1))]
