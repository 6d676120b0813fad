"""Activations as exporters write them: GELU in its forms, with a bias, and gated ones."""

from __future__ import annotations

import math
from typing import Any

from onnx import TensorProto

from .building import FLOAT, Builder, Value
from .patterns import pattern
from .sources import chosen, source, swapped


@pattern("fuse_gelu", opset=13)
def gelu_by_error_function(b: Builder) -> list[Value]:
    """0.5 * x * (1 + erf(x / sqrt(2)))."""
    c = b.choices
    x = _x(b)
    other = _other(b, x)
    if c.likely(0.5):
        root = b.number(c.exact("root", math.sqrt(2), 1.4, -math.sqrt(2)), x, _axes(b, "root", x))
        inner = b.op("Div", other, root)
    else:
        inner = swapped(b, "Mul", other, b.number(c.exact("inverse root", math.sqrt(0.5), 0.7), x))
    rest = swapped(b, "Add", b.op("Erf", inner), b.number(c.exact("one", 1.0, 1.01, -1.0), x, _axes(b, "one", x)))
    return [_halved(b, x, rest)]


@pattern("fuse_gelu", opset=13)
def gelu_by_tangent(b: Builder) -> list[Value]:
    """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    c = b.choices
    x = _x(b)
    other = _other(b, x)
    if c.likely(0.5):
        cube = b.op("Pow", x, b.number(c.exact("power", 3.0, 2.0), x))
    else:
        cube = swapped(b, "Mul", x, b.op("Mul", x, other))
    scaled = swapped(b, "Mul", cube, b.number(c.exact("cubic", 0.044715, 0.05), x))
    slope = b.number(c.exact("slope", math.sqrt(2 / math.pi), 0.8), x)
    inner = swapped(b, "Mul", swapped(b, "Add", x, scaled), slope)
    rest = swapped(b, "Add", b.op("Tanh", inner), b.number(c.exact("one", 1.0, 0.9), x))
    return [_halved(b, x, rest)]


def _x(b: Builder) -> Value:
    dtype = b.choices.exact("dtype", FLOAT, TensorProto.DOUBLE)
    return chosen(b, "x", source(b, [b.choices.any_of("batch", 2), 3, 4], dtype))


def _other(b: Builder, x: Value) -> Value:
    return b.choices.exact("the same value inside", lambda: x, lambda: b.op("Neg", x))()


def _axes(b: Builder, name: str, x: Value) -> int:
    return int(b.choices.exact(f"axes of {name}", b.choices.any_of(0, 0, 1), x.rank + 1))


def _halved(b: Builder, x: Value, rest: Value) -> Value:
    c = b.choices
    half = b.number(c.exact("half", 0.5, 0.6, -0.5), x, _axes(b, "half", x))
    form = c.any_of("first", "rest", "last")
    if form == "first":
        return swapped(b, "Mul", swapped(b, "Mul", x, half), rest)
    if form == "rest":
        return swapped(b, "Mul", x, swapped(b, "Mul", rest, half))
    return swapped(b, "Mul", swapped(b, "Mul", x, rest), half)


@pattern("fuse_bias_gelu", opset=20)
def gelu_of_a_sum(b: Builder) -> list[Value]:
    """Gelu(x + bias)."""
    c = b.choices
    x = _x(b)
    shape = c.exact("shape of bias", (4,), (1,), (3, 4), (), (1, 1, 4))
    constant = c.exact("bias is constant", True, False)
    bias = b.weights(*shape, dtype=x.dtype) if constant else b.input(shape, x.dtype)
    attributes: dict[str, Any] = {"approximate": "tanh"} if c.likely(0.5) else {}
    return [b.op("Gelu", swapped(b, "Add", x, bias), **attributes)]


@pattern("fuse_swiglu", "fuse_gated", opset=13)
def gated_activation(b: Builder) -> list[Value]:
    """x * sigmoid(x) of one half, times the other."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), 3, 8])
    gate, value = (b.op("MatMul", x, b.weights(8, 6)) for _ in range(2))
    other = c.exact("the same value inside", lambda: gate, lambda: value)()
    if c.likely(0.3):
        other = b.op("Mul", other, b.number(c.exact("slope", 1.0, 1.702), x))
    swish = swapped(b, "Mul", gate, b.op("Sigmoid", other))
    return [swapped(b, "Mul", swish, value)]
