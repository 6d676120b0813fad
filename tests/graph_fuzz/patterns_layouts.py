"""Changes of layout: chains of them, around products, and products that are written as Einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from .building import Builder, Unbuildable, Value
from .patterns import pattern
from .sources import chosen, reshape, source, squeeze, swapped, unsqueeze

_EQUATIONS = ("ab,bc->ac", "abc,cd->abd", "abc,cde->abde", "abcd,aecd->acbe", "acbe,aecd->abcd", "abc,abd->acd")
_EQUATIONS += ("abcd,cde->abe", "ab,cb->ca", "abc,dc->abd", "bac,bcd->abd")
_ODD_EQUATIONS = ("ab,bc->a", "ab,ab->ab", "ab,cd->abcd", "aa,ab->ab", "ab,bc", "ab->ba", "ab,bc,cd->ad", "ab,c->ab")
_ODD_EQUATIONS += ("...b,bc->...c", "a b , b c -> c a", "Ab,bc->Ac")
_SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 2, "A": 3}


@pattern("einsum_to_matmul", opset=12)
def einsum(b: Builder) -> list[Value]:
    """A product of two operands, or something else that Einsum can say."""
    c = b.choices
    equation = c.exact("equation", c.any_of(*_EQUATIONS), *_ODD_EQUATIONS)
    terms = equation.replace(" ", "").partition("->")[0].replace("...", "a").split(",")
    names: dict[str, Any] = {"a": "batch", "b": c.any_of("tokens", 3)}
    dtype = c.exact("dtype", 1, TensorProto.INT32, TensorProto.DOUBLE, TensorProto.INT8)
    operands = []
    for place, term in enumerate(terms):
        sizes = [names.get(index, _SIZES[index]) for index in term]
        if place == 1 and c.exact("an axis of one", False, True):
            sizes[0] = 1
        constant = place == 1 and c.likely(0.4) and dtype == 1 and all(isinstance(size, int) for size in sizes)
        operands.append(b.weights(*sizes) if constant else chosen(b, f"operand {place}", b.input(sizes, dtype)))
    return [b.op("Einsum", *operands, equation=equation)]


@pattern("remove_redundant", "lift_transposes", "stack_to_transpose", opset=11)
def layout_chain(b: Builder) -> list[Value]:
    """Transpose, Reshape, Unsqueeze, Squeeze and Flatten in a row; values between them are read too."""
    c = b.choices
    shape: list[Any] = [c.any_of("batch", 2), c.any_of("tokens", 3, 1), 4, c.any_of(6, 1)][: c.any_of(2, 3, 4)]
    x = chosen(b, "x", b.input(shape))
    others: list[Value] = []
    for _ in range(c.any_of(2, 3, 4, 5)):
        x = _layout_step(b, x)
        if c.likely(0.15):
            others.append(x if c.likely(0.4) else b.op("Relu", x))
    return [x if c.likely(0.4) else b.op("Relu", x), *others]


def _layout_step(b: Builder, x: Value) -> Value:
    c = b.choices
    step = c.any_of("Transpose", "Transpose", "Reshape", "Reshape", "Unsqueeze", "Squeeze", "Flatten")
    if step == "Transpose":
        order = c.in_any_order(range(x.rank))
        return b.op("Transpose", x) if c.likely(0.15) else b.op("Transpose", x, perm=order)
    if step == "Unsqueeze" and x.rank < 5:
        return unsqueeze(b, x, [c.any_of(0, x.rank, -1)])
    if step == "Squeeze" and 1 in x.shape:
        return squeeze(b, x, [x.shape.index(1)])
    if step == "Flatten":
        return b.op("Flatten", x, axis=c.any_of(*range(x.rank + 1)))
    return _regrouped(b, x)


def _regrouped(b: Builder, x: Value) -> Value:
    c = b.choices
    keep = c.any_of(*range(x.rank)) if x.rank else 0
    count = int(np.prod(x.shape[keep:]))
    forms: list[list[int]] = [[-1], [-1, 1]]
    forms += [[-1, factor] for factor in (2, 3, 4) if count % factor == 0]
    forms += [[factor, -1] for factor in (2, 3, 6) if count % factor == 0]
    return reshape(b, x, keep, c.any_of(*forms))


@pattern("lift_reshapes", opset=13)
def product_of_rows(b: Builder) -> list[Value]:
    """Reshape(MatMul(Reshape(x, [rows, k]), w), [..., n]), then a bias and heads."""
    c = b.choices
    batch, tokens = c.any_of(("batch", "tokens"), (2, 3), ("batch", 3))
    x = chosen(b, "x", source(b, [batch, tokens, 6]))
    rows = b.op("Reshape", x, b.constant(np.array(c.exact("rows", [-1, 6], [-1, 3], [-1, 2]), np.int64)))
    made = b.op("MatMul", rows, b.weights(rows.shape[-1], 8))
    if c.likely(0.3):
        made = b.op("Add", made, b.weights(8))
    shape = b.op("Shape", x)
    first, second = (b.op("Gather", shape, b.constant(np.array([place], np.int64))) for place in (0, 1))
    rest = c.exact("heads", c.any_of([8], [2, 4], [4, 2]), [-1], [8, -1], [2, 2, 2])
    leading = c.exact("leading axes", [first, second], [second, first])
    target = b.op("Concat", *leading, b.constant(np.array(rest, np.int64)), axis=0)
    back = b.op("Reshape", made, target)
    if c.likely(0.5):
        inner = back.shape[2:]
        shape = c.exact("shape of bias", inner, (1,), (3, *[1] * len(inner)))
        back = swapped(b, "Add", back, b.weights(*shape))
    return [back]


@pattern("lift_reshapes", opset=13)
def product_of_merged_axes(b: Builder) -> list[Value]:
    """MatMul of changed layouts, with a Reshape that merges or splits leading axes."""
    c = b.choices
    batch, heads = c.any_of("batch", 2), 2
    left = chosen(b, "left", source(b, [batch, heads, 3, 4]))
    right = source(b, c.exact("shape of right", [batch, heads, 4, 5], [batch, heads, 5, 4]))
    if right.shape[-1] == 4:
        right = b.op("Transpose", right, perm=[0, 1, 3, 2])
    target = c.exact("merged axes", [-1, 3, 4], [-1, 4, 3], [-1, 1, 3, 4])
    a = b.op("Reshape", left, b.constant(np.array(target, np.int64)))
    other = b.op("Reshape", right, b.constant(np.array([-1, 4, 5], np.int64)))
    if a.shape[-1] == 3:
        a = b.op("Transpose", a, perm=[0, 2, 1])
    if c.likely(0.3):
        other = b.op("Transpose", b.op("Transpose", other, perm=[0, 2, 1]), perm=[0, 2, 1])
    made = b.op("MatMul", a, other)
    if made.rank != 3:
        return [made]
    return [b.op("Reshape", made, b.constant(np.array(c.any_of([-1, heads, 3, 5], [-1, 15], [0, 0, -1]), np.int64)))]


@pattern("lift_reshapes", opset=13)
def product_as_tf2onnx(b: Builder) -> list[Value]:
    """What tf2onnx makes of an Einsum: leading axes merged to a computed shape, and axes of size one."""
    c = b.choices
    batch, tokens, heads = c.any_of("batch", 2), c.any_of("tokens", 3), c.any_of(2, 1)
    left, right = (chosen(b, name, source(b, [batch, heads, tokens, 4])) for name in ("left", "right"))
    shape = b.op("Shape", left)
    first, length = (b.op("Gather", shape, b.constant(np.array([place], np.int64))) for place in (0, 2))
    free, width, count, once = (b.constant(np.array([number], np.int64)) for number in (-1, 4, heads, 1))
    target = b.op("Concat", free, length, width, axis=0)
    a = b.op("Reshape", unsqueeze(b, left, [c.any_of(3, 2)]), target)
    other = b.op("Reshape", unsqueeze(b, right, [3]), target)
    made = b.op("MatMul", a, b.op("Transpose", other, perm=[0, 2, 1]))
    leading = c.exact("leading axes", [first, count], [count, first])
    return [b.op("Reshape", made, b.op("Concat", *leading, length, length, *c.any_of([], [once]), axis=0))]


@pattern("lift_reshapes", opset=13)
def scale_before_layout(b: Builder) -> list[Value]:
    """Transpose or Reshape of x * s, and a constant that is added behind a split."""
    c = b.choices
    x = chosen(b, "x", source(b, [c.any_of("batch", 2), 3, 4]))
    factor = c.exact(
        "factor", lambda: b.number(0.5, x, c.any_of(0, 1)), lambda: b.number(0.5, x, 4), lambda: b.weights(4)
    )()
    operation = c.any_of("Mul", "Div")
    operands = c.exact("operands", [x, factor], [factor, x])
    scaled = b.op(operation, *operands)
    if c.likely(0.5):
        return [b.op("Transpose", scaled, perm=[*range(scaled.rank)][::-1])]
    split = reshape(b, scaled, scaled.rank - 1, [2, 2])
    shape = c.exact("shape of what is added", c.any_of((2, 2), (2,), (2, 1)), (3, 1, 1), (1,) * 5)
    return [swapped(b, "Add", split, b.weights(*shape))]


@pattern("lift_reshapes", opset=13)
def general_product(b: Builder) -> list[Value]:
    """Gemm in its forms; quantisers meet biases of every shape here."""
    c = b.choices
    turned, columns = c.any_of(0, 1), 5
    x = source(b, c.exact("x", [c.any_of("batch", 2), 4], [4, c.any_of("batch", 2)]))
    attributes: dict[str, Any] = {"transB": turned} if turned else {}
    if x.shape[0] == 4:
        attributes["transA"] = 1
    if c.exact("alpha", False, True):
        attributes["alpha"] = 0.5
    if c.exact("beta", False, True):
        attributes["beta"] = 2.0
    constant = c.exact("matrix is constant", True, False)
    shape = (columns, 4) if turned else (4, columns)
    matrix = b.weights(*shape) if constant else b.input(shape)
    bias = [b.weights(*c.any_of((columns,), (1,), (1, columns), ()))] if c.likely(0.5) else []
    if c.exact("bias of rows", False, True):
        bias = [b.input(["batch" if x.shape[0] == 2 else x.shape[0], 1])]
    made = b.op("Gemm", x, matrix, *bias, **attributes)
    if made.shape[-1] != columns:
        raise Unbuildable("a bias that is too large")
    return [b.op("Relu", made) if c.likely(0.3) else made]


@pattern("slices_to_gather", opset=13)
def rolled(b: Builder) -> list[Value]:
    """Slices of one tensor, joined in another order."""
    c = b.choices
    axis, length = c.exact("axis", c.any_of(0, 1), 2), 6
    shape: list[Any] = [c.any_of("batch", 2), 3, 5]
    shape[axis] = c.exact("length", length, "length")
    x = chosen(b, "x", source(b, shape))
    other = c.exact("source of the second", lambda: x, lambda: b.op("Relu", x))()
    place = c.any_of(1, 2, 4)
    second = c.exact("axis of the second", axis, (axis + 1) % 3)
    first, last = _sliced(b, x, place, 2**31 - 1, axis), _sliced(b, other, 0, place if second == axis else 99, second)
    made = b.op("Concat", first, last, axis=axis) if second == axis or place == 0 else b.op("Concat", last, axis=axis)
    return [made, *c.exact("other readers", [], [first])]


def _sliced(b: Builder, x: Value, start: int, end: int, axis: int) -> Value:
    c = b.choices
    bounds, step = [start, end], c.any_of([], [1])
    if start and c.likely(0.2):
        bounds, step = [-1, -100], [-1]
    arrays = [np.array([number], np.int64) for number in (*bounds, axis, *step)]
    return b.op("Slice", x, *map(b.constant, arrays))


@pattern("settle_reshapes", opset=13)
def rows_between_reshapes(b: Builder) -> list[Value]:
    """Operations on rows between a Reshape and one back."""
    c = b.choices
    batch = c.any_of("batch", 2)
    x = chosen(b, "x", source(b, [batch, 2, 3, 4]))
    rows = reshape(b, x, 1, c.exact("what is joined", [6, 4], [12, 2]))
    for _ in range(c.any_of(1, 2, 3)):
        rows = _on_rows(b, rows)
    made = reshape(b, rows, 1, [2, 3, 4])
    return [made, *c.any_of([], [], [rows])]


def _on_rows(b: Builder, rows: Value) -> Value:
    c = b.choices
    tokens, width = rows.shape[-2:]
    form = c.any_of("activation", "product", "constant", "residual", "norm")
    if form == "activation":
        return b.op(c.any_of("Relu", "Tanh"), rows)
    if form == "product":
        return b.op("MatMul", rows, b.weights(*c.exact("matrix", (width, width), (1, width, width))))
    if form == "constant":
        shape = c.exact("shape of constant", c.any_of((width,), ()), (tokens, width), (tokens, 1))
        return swapped(b, c.any_of("Add", "Mul"), rows, b.weights(*shape))
    if form == "residual" or b.opset < 17:
        return b.op("Add", rows, b.op("Sigmoid", rows))
    axis = c.exact("axis of norm", c.any_of(-1, 2), 1)
    shape = (width,) if axis != 1 else (tokens, width)
    return b.op("LayerNormalization", rows, b.weights(*shape), axis=axis)


@pattern("lift_reshapes", opset=13)
def sums_of_cut_scores(b: Builder) -> list[Value]:
    """Biases of rows and columns, added to scores whose axes are cut for it."""
    c = b.choices
    batch = c.any_of("batch", 2)
    scores = chosen(b, "scores", source(b, [batch, 6, 8]))
    cut = reshape(b, scores, 1, c.exact("how it is cut", [2, 3, 4, 2], [3, 2, 4, 2]))
    tall, wide = cut.shape[1:3]
    biases = [b.input([batch, tall, wide, 4, 1]), b.input([batch, tall, wide, 1, 2])]
    biases = biases[: c.exact("number of biases", 2, 1)]
    total = cut
    for bias in biases:
        total = swapped(b, c.exact("operation", "Add", "Mul"), total, bias)
    back = reshape(b, total, 1, c.exact("what it becomes", [6, 8], [8, 6]))
    return [back, *c.exact("other readers", [], [total])]


@pattern("remove_redundant", opset=13)
def arithmetic_of_transposed(b: Builder) -> list[Value]:
    """A sum, difference or product of two tensors that are transposed alike."""
    c = b.choices
    shape: list[Any] = [c.any_of("batch", 2), 3, 3]
    x, y = source(b, shape), source(b, c.any_of(shape, [1, 3, 1]))
    order = c.any_of([0, 2, 1], [1, 2, 0])
    first = b.op("Transpose", chosen(b, "x", x), perm=order)
    second = b.op("Transpose", chosen(b, "y", y), perm=c.exact("order of the second", order, [2, 1, 0]))
    made = b.op(c.any_of("Add", "Sub", "Mul"), *c.in_any_order([first, second]))
    return [made, *c.exact("other readers", [], [first])]
