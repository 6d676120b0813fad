"""Shapes that are computed: the arithmetic that exporters write around dynamic dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .building import BOOL, FLOAT, INT64, Builder, Unbuildable, Value
from .patterns import pattern
from .sources import filled, source

_MOST_ELEMENTS = 400


@pattern("fold_shapes", opset=13)
def reshape_by_arithmetic(b: Builder) -> list[Value]:
    """Reshape to sizes that are cut out of a shape, multiplied and joined."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), c.any_of("tokens", 3), 4])
    shape = b.op("Shape", x, **_ends(b))
    parts = [_part(b, shape) for _ in range(c.any_of(1, 2, 3))]
    parts.insert(c.any_of(*range(len(parts) + 1)), b.constant(np.array([-1], np.int64)))
    target = b.op("Concat", *parts, axis=0)
    attributes: dict[str, Any] = {"allowzero": 1} if c.exact("allowzero", False, True) and b.opset >= 14 else {}
    made = b.op("Reshape", x, target, **attributes)
    return [made, shape] if c.exact("the shape is an output", False, True) else [made]


def _ends(b: Builder) -> dict[str, Any]:
    c = b.choices
    if b.opset < 15 or c.likely(0.6):
        return {}
    return c.any_of({"start": 0}, {"start": 1}, {"end": 2}, {"start": -2}, {"start": 0, "end": -1})


def _part(b: Builder, shape: Value) -> Value:
    """Return a vector of one size."""
    c = b.choices
    count = shape.shape[0]
    place = c.any_of(*range(-count, count))
    form = c.any_of("gather", "slice", "scalar", "product", "reduce", "cast", "max", "split")
    if form == "slice":
        start = place % count
        bounds = [start, start + 1] if c.likely(0.6) else [place, 2**31 - 1 if place == -1 else place + 1]
        arrays = [np.array([bound], np.int64) for bound in (*bounds, 0)]
        if (place >= 0 and bounds == [place, place + 1]) or bounds[0] == start:
            return b.op("Slice", shape, *[b.constant(array) for array in arrays])
        return b.op("Slice", shape, *[b.constant(array) for array in (*arrays, np.array([1], np.int64))])
    one = b.op("Gather", shape, b.constant(np.array([place], np.int64)), axis=0)
    if form == "scalar":
        number = b.op("Gather", shape, b.constant(np.array(place, np.int64)), axis=0)
        return b.op("Unsqueeze", number, b.constant(np.array([0], np.int64)))
    if form == "product":
        return b.op("Mul", one, b.constant(np.array([c.any_of(1, 2)], np.int64)))
    if form == "reduce":
        return b.op("ReduceProd", one, keepdims=1)
    if form == "cast":
        narrow = b.op("Cast", one, to=c.any_of(TensorProto.INT32, FLOAT, TensorProto.INT8))
        return b.op("Cast", narrow, to=INT64)
    if form == "max":
        return b.op("Max", one, b.constant(np.array([c.any_of(1, 2)], np.int64)))
    return one


@pattern("fold_shapes", opset=13)
def filled_by_shape(b: Builder) -> list[Value]:
    """ConstantOfShape, Expand, Range and Tile of sizes that are computed."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), c.any_of("tokens", 3), 4])
    shape = b.op("Shape", x)
    form = c.any_of("fill", "expand", "range", "tile", "slice")
    if form == "fill":
        return [b.op("Add", b.op("Cast", filled(b, shape), to=FLOAT), x)]
    if form == "expand":
        start = b.input(c.exact("shape of what is stretched", list(x.shape[-1:]), [1], [1, 1, 1]))
        return [b.op("Expand", start, shape), b.op("Expand", x, b.constant(np.array([1, 1, 1], np.int64)))]
    if form == "range":
        limit = b.op("Gather", shape, b.constant(np.array(c.any_of(1, -2, 0), np.int64)))
        first = b.constant(np.array(c.exact("start", 0, 1), np.int64))
        counted = b.op("Range", first, limit, b.constant(np.array(c.exact("step", 1, 2), np.int64)))
        return [b.op("Cast", counted, to=FLOAT), b.op("Relu", x)]
    if form == "tile":
        return [b.op("Tile", x, b.constant(np.array([1, c.any_of(1, 2), 1], np.int64)))]
    size = b.op("Gather", shape, b.constant(np.array([1], np.int64)))
    bounds = [b.constant(np.array([c.any_of(0, 1, -1)], np.int64)), size, b.constant(np.array([1], np.int64))]
    return [b.op("Slice", x, *bounds)]


@pattern("fold_shapes", opset=13)
def constants_to_fold(b: Builder) -> list[Value]:
    """Operations on constants alone, beside what is not constant."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), 3, 4])
    value = b.constant(np.arange(12, dtype=np.int64).reshape(3, 4) - c.any_of(0, 5))
    for _ in range(c.any_of(1, 2, 3)):
        value = _on_constants(b, value)
    if int(np.prod(value.shape)) > _MOST_ELEMENTS:
        raise Unbuildable("a constant that is too large")
    total = b.op("Cast", value, to=FLOAT)
    try:
        return [b.op("Add", x, total)]
    except Unbuildable:
        return [x, b.op("Add", b.op("ReduceSum", x, keepdims=0), total)]


def _on_constants(b: Builder, value: Value) -> Value:
    c = b.choices
    form = c.any_of("Neg", "Transpose", "Less", "CumSum", "Mod", "Tile", "Where", "OneHot", "Trilu", "Gather")
    if value.dtype == BOOL:
        return b.op("Cast", b.op("Not", value), to=INT64)
    if form in ("Neg", "Transpose"):
        return b.op(form, value)
    if form == "Less":
        return b.op("Less", value, b.number(3, value))
    if form == "CumSum":
        return b.op("CumSum", value, b.constant(np.array(0, np.int64)), exclusive=c.any_of(0, 1))
    if form == "Mod":
        return b.op("Mod", value, b.number(c.any_of(3, -3), value))
    if form == "Tile":
        return b.op("Tile", value, b.constant(np.array([1] * value.rank, np.int64)))
    if form == "Where":
        return b.op("Where", b.op("Less", value, b.number(4, value)), value, b.number(0, value))
    if form == "Trilu" and b.opset >= 14 and value.rank == 2:
        return b.op("Trilu", value, upper=c.any_of(0, 1))
    if form == "Gather" and value.rank:
        return b.op("Gather", value, b.constant(np.array([0, -1], np.int64)), axis=value.rank - 1)
    return b.op("Abs", value)
