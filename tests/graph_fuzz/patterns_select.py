"""Choices that an exporter wrote as arithmetic, and operations that are redundant or equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .building import BOOL, FLOAT, INT64, Builder, Value
from .patterns import pattern
from .sources import chosen, indices, source, swapped


@pattern("restore_select", opset=13)
def choice_as_sum(b: Builder) -> list[Value]:
    """cast(c) * a + cast(not c) * b."""
    c = b.choices
    shape: list[Any] = [c.any_of("batch", 2), 3]
    condition = b.input(c.exact("shape of condition", shape, [3], [1, 1]), BOOL, "keep")
    if c.exact("type of condition", False, True):
        condition = b.op("Cast", condition, to=INT64)
    dtype = c.exact("dtype", FLOAT, TensorProto.DOUBLE, INT64)
    first, second = source(b, shape), source(b, c.exact("shape of other", shape, [3]))
    first, second = (value if dtype == FLOAT else b.op("Cast", value, to=dtype) for value in (first, second))
    logical = condition if condition.dtype == BOOL else b.op("Cast", condition, to=BOOL)
    other = c.exact("negated", lambda: b.op("Not", logical), lambda: b.input(shape, BOOL, "keep"))()
    left = swapped(b, "Mul", b.op("Cast", condition, to=dtype), first)
    right = swapped(b, "Mul", b.op("Cast", other, to=dtype), second)
    return [swapped(b, "Add", left, right)]


@pattern("restore_select", opset=13)
def condition_with_a_truth(b: Builder) -> list[Value]:
    """Where(and(true, c), a, b)."""
    c = b.choices
    shape: list[Any] = [c.any_of("batch", 2), 3]
    condition = chosen(b, "condition", b.input(c.any_of(shape, [3]), BOOL, "keep"))
    stretch = c.exact("shape of truth", [1, 1], [4, 1, 1])
    number = c.exact("truth", True, False)
    truth = b.constant(np.full(stretch, number))
    if c.likely(0.3):
        truth = b.op("Expand", truth, b.constant(np.array(c.any_of([2, 3], [1, 3]), np.int64)))
    operation = c.exact("operation", "And", "Or")
    first = source(b, c.exact("shape of choice", shape, [3]))
    return [b.op("Where", swapped(b, operation, truth, condition), first, b.number(-1.0, first))]


@pattern("restore_select", opset=13)
def wrapped_index(b: Builder) -> list[Value]:
    """Gather(x, Where(i < 0, i + n, i))."""
    c = b.choices
    rows = 5
    data = b.weights(rows, 4) if c.likely(0.5) else source(b, [rows, 4])
    axis = c.exact("axis", 0, 1)
    index = indices(b, [c.any_of("batch", 2), 3], 4)
    zero = b.number(c.exact("zero", 0, 1), index, c.any_of(0, 1))
    count = b.number(c.exact("count", data.shape[axis], 3), index, c.exact("axes of count", 0, 1, 3))
    shifted = swapped(b, "Add", index, count)
    wrapped = b.op("Where", b.op("Less", index, zero), shifted, index)
    return [b.op("Gather", data, wrapped, axis=axis)]


@pattern("restore_select", opset=13)
def folded_choice(b: Builder) -> list[Value]:
    """x * c + d, c of zeros and ones, d zero where c is one."""
    c = b.choices
    x = chosen(b, "x", source(b, [c.any_of("batch", 2), 3, 4]))
    chosen_places = np.array([[0, 1, 1, 0]] * c.any_of(1, 3), np.float32)
    shift = np.where(chosen_places > 0, 0, c.any_of(-1e9, 2.0)).astype(np.float32)
    odd_factor, odd_shift = chosen_places.copy(), shift.copy()
    odd_factor[0, 1], odd_shift[0, 1] = 0.5, 3.0
    factor = c.exact("factor", chosen_places, odd_factor, np.stack([chosen_places] * 2)[:, None])
    shift = c.exact("shift", shift, odd_shift, np.stack([shift] * 2)[:, None], np.full((5, 1, 1, 1), 0, np.float32))
    return [swapped(b, "Add", swapped(b, "Mul", x, b.constant(factor)), b.constant(shift))]


@pattern("remove_redundant", opset=13)
def chain_of_casts(b: Builder) -> list[Value]:
    """Casts in a row, some of which lose digits."""
    c = b.choices
    types = (FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, INT64, TensorProto.INT32, TensorProto.INT8, BOOL)
    types += (TensorProto.UINT8, TensorProto.BFLOAT16)
    value = b.input([c.any_of("batch", 2), 3], c.any_of(FLOAT, INT64, TensorProto.INT32))
    for _ in range(c.any_of(2, 3)):
        value = b.op("Cast", value, to=c.any_of(*types))
    return [b.op("Cast", value, to=FLOAT)]


@pattern("remove_redundant", opset=13)
def pad_by_nothing(b: Builder) -> list[Value]:
    """A Pad that adds no element, or takes some away at one end and adds others at the other end."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), 3, 4])
    pads = c.exact("pads", [0] * 6, [0, 0, 1, 0, 0, -1], [0, -1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 2])
    return [b.op("Pad", x, b.constant(np.array(pads, np.int64)), mode=c.any_of("constant", "edge"))]


@pattern("remove_redundant", opset=13)
def equal_operations(b: Builder) -> list[Value]:
    """The same operation twice, with outputs that are omitted, attributes and constants that hardly differ."""
    c = b.choices
    x = source(b, [c.any_of("batch", 2), 4, 6])
    form = c.any_of("outputs", "zeros", "products", "identities", "split", "random")
    if form == "outputs":
        outputs = c.in_any_order(c.any_of(["v", "-i"], ["vi", "v"], ["vi", "-i"]))
        count = b.constant(np.array([2], np.int64), "initializer")
        found = [b.op("TopK", x, count, outputs=kept, axis=-1) for kept in outputs]
        flat = [value for made in found for value in (made if isinstance(made, list) else [made])]
        return [b.op("Cast", value, to=FLOAT) for value in flat]
    if form == "zeros":
        zeros = [b.constant(np.array(number, np.float32)) for number in c.in_any_order([0.0, -0.0])]
        return [b.op("Div", b.number(1.0, x), b.op("Mul", b.op("Abs", x), zero)) for zero in zeros]
    if form == "products":
        axes = c.exact("axes", [-1, -1], [-1, 1])
        return [b.op("Softmax", x, axis=axis) for axis in axes]
    if form == "split":
        parts = b.constant(np.array([1, 3], np.int64), "initializer")
        kept = [b.op("Split", x, parts, outputs=letters, axis=1) for letters in ("ab", "ab")]
        return [kept[0][0], kept[1][1]]
    if form == "random":
        return [b.op("Identity", b.op("Identity", x)), b.op("Dropout", x), b.op("Dropout", x)]
    first, second = (b.op("Identity", x) for _ in range(2))
    return [first, second, swapped(b, "Add", first, second)]
