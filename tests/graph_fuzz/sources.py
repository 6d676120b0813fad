"""What patterns begin with: inputs and simple values, in the forms that exporters write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from .building import BOOL, FLOAT, INT64, Builder, Value


def source(b: Builder, shape: Sequence[int | str], dtype: int = FLOAT) -> Value:
    """Return a float tensor: an input, or something that is computed of one."""
    value = b.input(shape, dtype)
    form = b.choices.any_of("plain", "plain", "plain", "plain", "negated", "scaled", "identity")
    if form == "negated":
        return b.op("Neg", value)
    if form == "scaled":
        return b.op("Mul", value, b.number(0.5, value))
    return b.op("Identity", value) if form == "identity" else value


def filled(b: Builder, shape: Value) -> Value:
    """Return a tensor of a shape that is computed: of zeros, or of a number that need be neither whole nor finite."""
    number = b.choices.any_of(None, None, np.int64(2), *map(np.float32, (0.5, -np.inf, np.nan)))
    attributes: dict[str, Any] = {} if number is None else {"value": numpy_helper.from_array(np.array([number]))}
    return b.op("ConstantOfShape", shape, **attributes)


def indices(b: Builder, shape: Sequence[int | str], below: int) -> Value:
    """Return an input of indices in the range below a number, negative ones included."""
    return b.input(shape, INT64, f"ids_below_{below}_n")


def unknown(b: Builder, value: Value) -> Value:
    """Return the same value behind an If, of which no pass knows the shape."""
    branches = {}
    for name in ("then_branch", "else_branch"):
        inner = b.body()
        branches[name] = inner.graph([inner.op("Identity", value)], name)
    flag = b.input([], BOOL, "flag")
    node = helper.make_node("If", [flag.name], [b.name("hidden")], b.name("if"), **branches)
    return b.stated(node, [(value.dtype, value.shape)])[0]


def chosen(b: Builder, name: str, value: Value) -> Value:
    """Return the value, or, as a near-miss, the same one without a known shape."""
    return unknown(b, value) if b.choices.exact(f"unknown shape of {name}", False, True) else value


def swapped(b: Builder, operation: str, first: Value, second: Value) -> Any:
    """Add a commutative operation on two values, in any order."""
    return b.op(operation, *b.choices.in_any_order([first, second]))


def reshape(b: Builder, value: Value, keep: int, rest: Sequence[int]) -> Value:
    """Reshape to the first axes as they are, then ``rest``; the target is a constant or computed of the shape."""
    if b.choices.likely(0.6):
        target = [0] * keep + list(rest)
        return b.op("Reshape", value, b.constant(np.array(target, np.int64)))
    shape = b.op("Shape", value)
    parts = []
    for axis in range(keep):
        place = b.constant(np.array([axis], np.int64))
        parts.append(b.op("Gather", shape, place, axis=0))
    parts.append(b.constant(np.array(rest, np.int64)))
    return b.op("Reshape", value, b.op("Concat", *parts, axis=0))


def reduce(b: Builder, operation: str, value: Value, axes: Sequence[int], keepdims: int = 1) -> Value:
    """Reduce over axes, which are an attribute or an input."""
    as_input = b.opset >= (13 if operation == "ReduceSum" else 18)
    if as_input:
        return b.op(operation, value, b.constant(np.array(axes, np.int64)), keepdims=keepdims)
    return b.op(operation, value, axes=list(axes), keepdims=keepdims)


def mean(b: Builder, value: Value, axes: Sequence[int], keepdims: int = 1) -> Value:
    """Return the mean over axes."""
    return reduce(b, "ReduceMean", value, axes, keepdims)


def unsqueeze(b: Builder, value: Value, axes: Sequence[int]) -> Value:
    """Put axes of size one in."""
    if b.opset >= 13:
        return b.op("Unsqueeze", value, b.constant(np.array(axes, np.int64)))
    return b.op("Unsqueeze", value, axes=list(axes))


def squeeze(b: Builder, value: Value, axes: Sequence[int]) -> Value:
    """Take axes of size one out."""
    if b.opset >= 13:
        return b.op("Squeeze", value, b.constant(np.array(axes, np.int64)))
    return b.op("Squeeze", value, axes=list(axes))
