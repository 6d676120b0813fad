"""Random graphs: operations of many kinds on whatever is there, bodies that read values of the graph around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from .building import BOOL, FLOAT, INT64, Builder, Unbuildable, Value
from .patterns import PATTERNS
from .sources import filled, mean, reduce, reshape, squeeze, swapped, unsqueeze

_MOST_ELEMENTS = 1500
_FLOATS = (FLOAT, TensorProto.DOUBLE)
Step = Callable[[Builder, list[Value]], Any]


def random_graph(b: Builder) -> list[Value]:
    """Add inputs, operations and a pattern or two, and return some of what nobody reads."""
    c = b.choices
    shapes: list[list[Any]] = [["batch", 3, 4], ["batch", "tokens", 4], [2, 3, 4], [4], ["batch", 1, 4]]
    shapes += [["5", 4]] if c.likely(0.05) else []
    pool = [b.input(c.any_of(*shapes)) for _ in range(c.any_of(1, 2, 3))]
    if c.likely(0.4):
        pool.append(b.input(c.any_of(["batch", 3], [4]), INT64, "n"))
    _grow(b, pool, c.any_of(4, 7, 10, 14))
    fitting = [entry.build for entry in PATTERNS.values() if entry.opset <= b.opset]
    if fitting and c.likely(0.35):
        pool += c.any_of(*fitting)(b)
        _grow(b, pool, 3)
    unread = [value for value in pool if not any(value.name in node.input for node in b.nodes)]
    made = [value for value in unread if any(value.name in node.output for node in b.nodes)]
    if not made:
        raise Unbuildable("nothing was made")
    return made[-4:] + ([c.any_of(*b.values)] if c.likely(0.15) else [])


def _grow(b: Builder, pool: list[Value], count: int, steps: Sequence[Step] = ()) -> None:
    for _ in range(count):
        step = b.choices.any_of(*(steps or _STEPS))
        before = len(b.nodes)
        try:
            made = step(b, pool)
        except Unbuildable:
            del b.nodes[before:]
            continue
        values = made if isinstance(made, list) else [made]
        pool += [value for value in values if int(np.prod(value.shape)) <= _MOST_ELEMENTS]


def _pick(b: Builder, pool: Sequence[Value], dtypes: Sequence[int] = _FLOATS, least_rank: int = 0) -> Value:
    fitting = [value for value in pool if value.dtype in dtypes and value.rank >= least_rank]
    if not fitting:
        raise Unbuildable("nothing of that kind is there")
    return b.choices.any_of(*fitting, *fitting[-3:])


def _unary(b: Builder, pool: list[Value]) -> Value:
    operations = ("Relu", "Neg", "Sigmoid", "Tanh", "Abs", "Identity", "Erf", "Exp", "Softplus", "LeakyRelu", "Elu")
    operations += ("Identity", "Cos", "Sin", "Floor", "Sign", "Round", "HardSigmoid", "Sqrt", "Reciprocal")
    return b.op(b.choices.any_of(*operations), _pick(b, pool))


def _binary(b: Builder, pool: list[Value]) -> Value:
    left = _pick(b, pool)
    right = _pick(b, pool, [left.dtype]) if b.choices.likely(0.6) else b.number(b.choices.any_of(0.5, 2.0, 0.0), left)
    return b.op(
        b.choices.any_of("Add", "Mul", "Sub", "Div", "Add", "Mul", "Max", "Min"), *b.choices.in_any_order([left, right])
    )


def _product(b: Builder, pool: list[Value]) -> Value:
    left = _pick(b, pool, least_rank=1)
    if b.choices.likely(0.6):
        return b.op("MatMul", left, b.weights(left.shape[-1], b.choices.any_of(3, 4), dtype=left.dtype))
    right = _pick(b, pool, [left.dtype], least_rank=2)
    return b.op("MatMul", left, b.op("Transpose", right, perm=[*range(right.rank - 2), right.rank - 1, right.rank - 2]))


def _layout(b: Builder, pool: list[Value]) -> Value:
    value = _pick(b, pool, (*_FLOATS, INT64, BOOL), least_rank=1)
    step = b.choices.any_of("transpose", "reshape", "unsqueeze", "squeeze", "flatten")
    if step == "transpose":
        return b.op("Transpose", value, perm=b.choices.in_any_order(range(value.rank)))
    if step == "reshape":
        return reshape(b, value, b.choices.any_of(*range(value.rank)), b.choices.any_of([-1], [-1, 1], [-1, 2]))
    if step == "unsqueeze":
        return unsqueeze(b, value, [b.choices.any_of(0, -1)])
    if step == "squeeze" and 1 in value.shape:
        return squeeze(b, value, [value.shape.index(1)])
    return b.op("Flatten", value, axis=b.choices.any_of(0, 1))


def _reduction(b: Builder, pool: list[Value]) -> Value:
    value = _pick(b, pool, least_rank=1)
    operation = b.choices.any_of("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceProd")
    axes = [b.choices.any_of(*range(value.rank))]
    return reduce(b, operation, value, axes, b.choices.any_of(0, 1))


def _normal(b: Builder, pool: list[Value]) -> Any:
    value = _pick(b, pool, least_rank=1)
    form = b.choices.any_of("softmax", "layer", "moments", "dropout", "clip")
    if form == "softmax":
        return b.op(b.choices.any_of("Softmax", "LogSoftmax"), value, axis=b.choices.any_of(-1, 0, value.rank - 1))
    if form == "layer":
        scale = b.weights(value.shape[-1], dtype=value.dtype)
        bias = [b.weights(value.shape[-1], dtype=value.dtype)] if b.choices.likely(0.6) else []
        return b.op("LayerNormalization", value, scale, *bias, outputs=b.choices.any_of("y", "ym", "y-s"), axis=-1)
    if form == "dropout":
        return b.op("Dropout", value, outputs=b.choices.any_of("y", "ym"))
    if form == "clip":
        return b.op("Clip", value, *b.choices.any_of((b.number(0, value),), (None, b.number(1, value))))
    return b.op("Sub", value, mean(b, value, [-1]))


def _selection(b: Builder, pool: list[Value]) -> Any:
    value = _pick(b, pool, (*_FLOATS, INT64), least_rank=1)
    form = b.choices.any_of("gather", "slice", "split", "topk", "concat", "pad", "tile", "argmax")
    axis = b.choices.any_of(*range(value.rank))
    if form == "gather":
        index = b.constant(np.array(b.choices.any_of(0, [0, -1], [[0]]), np.int64))
        return b.op("Gather", value, index, axis=axis)
    if form == "slice":
        start, step = b.choices.any_of((0, 1), (1, 1), (-1, -1), (0, 2))
        limits = [start, 2**31 - 1 if step > 0 else -(2**31), axis, step]
        return b.op("Slice", value, *[b.constant(np.array([number], np.int64)) for number in limits])
    if form == "split" and value.shape[axis] > 1:
        sizes = b.constant(np.array([1, value.shape[axis] - 1], np.int64))
        return b.op("Split", value, sizes, outputs="ab", axis=axis)
    if form == "topk":
        count = b.constant(np.array([1], np.int64))
        return b.op("TopK", value, count, outputs=b.choices.any_of("v", "vi", "-i", "v-"), axis=axis)
    if form == "argmax":
        return b.op("ArgMax", value, axis=axis, keepdims=b.choices.any_of(0, 1))
    if form == "pad":
        amounts = [0] * (2 * value.rank)
        amounts[axis] = 1
        return b.op("Pad", value, b.constant(np.array(amounts, np.int64)))
    if form == "tile":
        counts = [1] * value.rank
        counts[axis] = b.choices.any_of(1, 2)
        return b.op("Tile", value, b.constant(np.array(counts, np.int64)))
    return b.op("Concat", value, _pick(b, pool, [value.dtype], least_rank=1), axis=axis)


def _logic(b: Builder, pool: list[Value]) -> Value:
    form = b.choices.any_of("less", "where", "cast", "not", "and", "float", "equal")
    if form in ("less", "equal"):
        left = _pick(b, pool, (*_FLOATS, INT64))
        return b.op("Equal" if form == "equal" else "Less", left, b.number(b.choices.any_of(0, 1), left))
    if form == "where":
        condition = _pick(b, pool, [BOOL])
        first = _pick(b, pool)
        second = _pick(b, pool, [first.dtype]) if b.choices.likely(0.5) else b.number(-1.0, first)
        return b.op("Where", condition, first, second)
    if form == "cast":
        return b.op("Cast", _pick(b, pool, (*_FLOATS, INT64, BOOL)), to=b.choices.any_of(FLOAT, INT64, 11, 6))
    if form == "float":
        return b.op("Cast", _pick(b, pool, (INT64, BOOL, 6)), to=FLOAT)
    if form == "and":
        return swapped(b, b.choices.any_of("And", "Or", "Xor"), _pick(b, pool, [BOOL]), _pick(b, pool, [BOOL]))
    return b.op("Not", _pick(b, pool, [BOOL]))


def _of_shape(b: Builder, pool: list[Value]) -> Any:
    value = _pick(b, pool, least_rank=1)
    shape = b.op("Shape", value)
    form = b.choices.any_of("fill", "expand", "size", "reshape")
    if form == "fill":
        return b.op("Cast", filled(b, shape), to=FLOAT)
    if form == "expand":
        return b.op("Expand", b.number(1.0, value), shape)
    if form == "size":
        return b.op("Cast", b.op("Gather", shape, b.constant(np.array([0], np.int64))), to=FLOAT)
    return b.op("Reshape", b.op("Transpose", value), shape)


def _again(b: Builder, pool: list[Value]) -> Any:
    """Repeat a node that is there, for passes that join equal ones."""
    nodes = [node for node in b.nodes if len(node.input) and len(node.output) == 1 and not node.domain]
    nodes = [node for node in nodes if not any(attribute.HasField("g") for attribute in node.attribute)]
    if not nodes:
        raise Unbuildable("no node is there")
    node = b.choices.any_of(*nodes)
    copied = type(node)()
    copied.CopyFrom(node)
    copied.output[0] = copied.name = b.name(node.op_type.lower())
    first = next(value for value in b.values if value.name == node.output[0])
    return b.stated(copied, [(first.dtype, first.shape)])


def _shape_kept(b: Builder, value: Value, outside: Sequence[Value]) -> Value:
    """Compute something as large as a value, from it and from values around the body."""
    c = b.choices
    for _ in range(c.any_of(1, 2, 3)):
        fitting = [other for other in outside if (other.dtype, other.shape) == (value.dtype, value.shape)]
        form = c.any_of("unary", "number", "outside", "identity", "softmax")
        if form == "unary":
            value = b.op(c.any_of("Relu", "Neg", "Tanh", "Abs"), value)
        elif form == "softmax" and value.rank:
            value = b.op("Softmax", value, axis=-1)
        elif form == "outside" and fitting:
            value = swapped(b, c.any_of("Add", "Mul"), value, c.any_of(*fitting))
        elif form == "number":
            value = swapped(b, "Mul", value, b.number(c.any_of(0.5, 1.0), value))
        else:
            value = b.op("Identity", value)
    return value


def _branches(b: Builder, pool: list[Value]) -> Any:
    start = _pick(b, pool)
    flag = b.input([], BOOL, "flag")
    bodies = {}
    for name in ("then_branch", "else_branch"):
        inner = b.body()
        bodies[name] = inner.graph(
            [_shape_kept(inner, inner.op("Identity", start) if b.choices.likely(0.3) else start, pool)], name
        )
        if not bodies[name].node:
            raise Unbuildable("a branch gives what it does not compute")
    node = helper.make_node("If", [flag.name], [b.name("if")], b.name("if"), **bodies)
    return b.stated(node, [(start.dtype, start.shape)])


def _loop(b: Builder, pool: list[Value]) -> Any:
    c = b.choices
    start = _pick(b, pool)
    fixed = c.any_of(1, 2)
    stacks = c.likely(0.5)  # then it runs at least once: what no turn stacks has sizes of the runtime's choice
    trips = b.constant(np.array(fixed)) if stacks or c.likely(0.3) else b.input([], INT64, "trips")
    inner = b.body()
    _, go, state = inner.input([], INT64), inner.input([], BOOL), inner.input(start.shape, start.dtype)
    inner.inputs[-1].type.tensor_type.ClearField("shape")
    following = _shape_kept(inner, state, pool)
    emitted = [inner.op("Identity", _shape_kept(inner, following, pool))] if stacks else []
    outputs = [inner.op("Identity", go), inner.op("Identity", following), *emitted]
    condition = b.constant(np.array(True))
    names = [b.name("loop") for _ in outputs[1:]]
    node = helper.make_node(
        "Loop", [trips.name, condition.name, start.name], names, names[0], body=inner.graph(outputs)
    )
    types = [(start.dtype, start.shape), (start.dtype, (2, *start.shape))][: len(names)]
    made = b.stated(node, types)
    return made[:1] if len(made) == 1 else [made[0], b.op("Identity", made[1])]


def _scan(b: Builder, pool: list[Value]) -> Any:
    sequence = _pick(b, pool, least_rank=2)
    inner = b.body()
    step = inner.input(sequence.shape[1:], sequence.dtype)
    inner.inputs[-1].type.tensor_type.ClearField("shape")
    made = inner.op("Identity", _shape_kept(inner, step, pool))
    name = b.name("scan")
    node = helper.make_node("Scan", [sequence.name], [name], name, body=inner.graph([made]), num_scan_inputs=1)
    return b.stated(node, [(sequence.dtype, sequence.shape)])


_STEPS: tuple[Step, ...] = (
    *(_unary, _binary, _product, _layout, _layout, _reduction, _normal, _selection, _logic, _of_shape) * 2,
    *(_again, _branches, _loop, _scan),
)
