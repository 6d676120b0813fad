"""What the body of a Loop computes, if it is a gated recurrent unit (Cho et al., 2014).

The next state is taken apart from its end: z * h + (1 - z) * tanh(...). Whatever is linear in the step's input or in
the state is read as one matrix and one bias, however it was split, sliced and summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.sizes import Elements, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, is_node, replace, scalar
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

Linear = tuple[Array, Array]
"""Matrix (inputs, outputs) and bias (outputs,)."""

_GATES = 3
_STATE_AXES = 2
_OPSET = 18
"""Semantics by which the few operations between a weight and its use are computed; later sets did not change them."""


@dataclass(frozen=True)
class LoopBody:
    """The parts of a Loop that runs a recurrence over the first axis of a tensor.

    Attributes:
        sequence: The tensor, (steps, batch, width), from outside.
        step: The step's input in the body, (batch, width).
        counters: Values of the body that count the steps, from 0 before the first, or from 1 after it.
        outside: Values of the body that never change, by what they are outside.
    """

    sequence: ir.Value
    start: ir.Value
    state: ir.Value
    following: ir.Value
    step: ir.Value
    counters: frozenset[ir.Value]
    outside: dict[ir.Value, ir.Value]

    def resolve(self, value: ir.Value | None) -> ir.Value | None:
        """Return the value that another one only repeats."""
        value = _original(value)
        return self.outside.get(value, value) if value is not None else None

    def constant(self, value: ir.Value | None) -> Array | None:
        """Return what a value of the body holds if only constants lead to it."""
        value = self.resolve(value)
        if value is None:
            return None
        if value.const_value is not None:
            return value.const_value.numpy()
        node = value.producer()
        inputs = [self.constant(tensor) for tensor in node.inputs] if node is not None else []
        return None if node is None or any(tensor is None for tensor in inputs) else _compute(node, value, inputs)


@dataclass(frozen=True)
class GatedUnit:
    """The weights of a gated recurrent unit, gates in the order update, reset, candidate.

    Attributes:
        kernel: (width, 3 * units).
        recurrent: (units, 3 * units).
        bias: (3 * units,), added to what comes from the input.
        recurrent_bias: (3 * units,), added to what comes from the state.
    """

    kernel: Array
    recurrent: Array
    bias: Array
    recurrent_bias: Array
    reset_after: bool


def _compute(node: ir.Node, value: ir.Value, inputs: list[Array | None]) -> Array | None:
    import onnx_ir as ir
    from onnx.reference import ReferenceEvaluator

    feed = {str(tensor.name): array for tensor, array in zip(node.inputs, inputs, strict=True) if tensor is not None}
    if any(attribute.type.name in ("GRAPH", "GRAPHS") for attribute in node.attributes.values()) or not feed:
        return None
    outputs = [str(tensor.name) for tensor in node.outputs]
    results: list[Any] = ReferenceEvaluator(ir.to_proto(node), opsets={"": _OPSET}).run(None, feed)  # type: ignore[assignment]  # a dict only for maps
    return np.asarray(results[outputs.index(str(value.name))])


def read_body(loop: ir.Node) -> LoopBody | None:
    """Return the parts of a Loop with one changing tensor, its state, and one counter of steps."""
    body = loop.attributes["body"].as_graph()
    carried = list(zip(body.inputs[2:], body.outputs[1:], loop.inputs[2:], strict=False))
    outside = {inner: outer for inner, following, outer in carried if following is inner and outer is not None}
    changing = [value for value in carried if value[0] not in outside]
    counters = [body.inputs[0], *(inner for inner, following, outer in changing if _counts(inner, following, outer))]
    states = [value for value in changing if value[0] not in counters]
    steps = [node for node in body if is_node(node.outputs[0], "Gather") and node.inputs[1] in counters]
    if len(states) != 1 or len(steps) != 1 or steps[0].attributes.get_int("axis", 0) != 0:
        return None
    (state, following, start), sequence = states[0], steps[0].inputs[0]
    if sequence is None or start is None or sequence.graph is body:
        return None
    after = [
        value for node in body for value in node.outputs if any(_is_one_more(value, counter) for counter in counters)
    ]
    ahead = _original(following) or following
    return LoopBody(sequence, start, state, ahead, steps[0].outputs[0], frozenset([*counters, *after]), outside)


def _original(value: ir.Value | None) -> ir.Value | None:
    while value is not None and is_node(value, "Identity"):
        node = value.producer()
        value = node.inputs[0] if node is not None else None
    return value


def _counts(inner: ir.Value, following: ir.Value, outer: ir.Value | None) -> bool:
    return scalar(outer) == 0 and sizes_of(outer) == [] and _is_one_more(following, inner)


def _is_one_more(value: ir.Value, counter: ir.Value) -> bool:
    node = value.producer() if is_node(value, "Add") else None
    return node is not None and counter in node.inputs and any(scalar(tensor) == 1 for tensor in node.inputs)


def read_cell(body: LoopBody) -> GatedUnit | None:
    """Return the weights if the next state is that of a gated recurrent unit."""
    for kept, new in _operands(body, body.following, "Add"):
        for update, state in _operands(body, kept, "Mul"):
            for complement, candidate in _operands(body, new, "Mul"):
                if state is body.state and _is_complement(body, complement, update) and is_node(candidate, "Tanh"):
                    return _cell(body, update, _first_input(body, candidate))
    return None


def _cell(body: LoopBody, update: ir.Value, candidate: ir.Value | None) -> GatedUnit | None:
    for new, old in _operands(body, candidate, "Add"):
        of_input = _linear(body, new, lambda value: value is body.step)
        for read in (_reset_after, _reset_before):
            operand_pair = read(body, old) if of_input is not None else None
            if operand_pair is None or of_input is None:
                continue
            reset, of_state = operand_pair
            gates = [_gate(body, update), _gate(body, reset), (of_input, of_state)]
            if None not in gates:
                pairs = [gate for gate in gates if gate is not None]
                return _joined(pairs, reset_after=read is _reset_after)
    return None


def _joined(gates: list[tuple[Linear, Linear]], reset_after: bool) -> GatedUnit | None:
    parts = [np.concatenate([gate[side][part] for gate in gates], axis=-1) for side in (0, 1) for part in (0, 1)]
    kernel, bias, recurrent, recurrent_bias = parts
    whole = recurrent.shape[1] == _GATES * recurrent.shape[0] == kernel.shape[1]
    return GatedUnit(kernel, recurrent, bias, recurrent_bias, reset_after) if whole else None


def _reset_after(body: LoopBody, value: ir.Value) -> tuple[ir.Value, Linear] | None:
    """Read reset * (h @ matrix + bias)."""
    for reset, rest in _operands(body, value, "Mul"):
        of_state = _linear(body, rest, lambda value: value is body.state)
        if of_state is not None:
            return reset, of_state
    return None


def _reset_before(body: LoopBody, value: ir.Value) -> tuple[ir.Value, Linear] | None:
    """Read (reset * h) @ matrix + bias."""
    resets: list[ir.Value] = []

    def is_reset_state(value: ir.Value) -> bool:
        reset_operands = [reset for reset, state in _operands(body, value, "Mul") if state is body.state]
        resets.extend(reset_operands)
        return bool(reset_operands)

    of_state = _linear(body, value, is_reset_state)
    return (resets[0], of_state) if of_state is not None else None


def _gate(body: LoopBody, value: ir.Value) -> tuple[Linear, Linear] | None:
    """Read sigmoid(x @ matrix + bias + h @ matrix + bias)."""
    inner = _first_input(body, value) if is_node(value, "Sigmoid") else None
    for left, right in _operands(body, inner, "Add"):
        of_input = _linear(body, left, lambda source: source is body.step)
        of_state = _linear(body, right, lambda source: source is body.state)
        if of_input is not None and of_state is not None:
            return of_input, of_state
    return None


def _linear(body: LoopBody, value: ir.Value | None, is_source: Callable[[ir.Value], bool]) -> Linear | None:
    """Return matrix and bias of what is computed of one source by a product, sums with constants, and cuts."""
    value = body.resolve(value)
    node = value.producer() if value is not None else None
    if node is None or value is None or node.domain:
        return None
    if node.op_type == "MatMul":
        source, matrix = body.resolve(node.inputs[0]), body.constant(node.inputs[1])
        if source is None or matrix is None or matrix.ndim != 2 or not is_source(source):
            return None
        return matrix, np.zeros(matrix.shape[1], matrix.dtype)
    if node.op_type == "Add":
        return _shifted(body, node, is_source)
    if node.op_type in ("Split", "Slice"):
        whole = _linear(body, node.inputs[0], is_source)
        return None if whole is None else _cut(body, node, value, whole)
    return None


def _shifted(body: LoopBody, node: ir.Node, is_source: Callable[[ir.Value], bool]) -> Linear | None:
    for operand, other in (node.inputs, node.inputs[::-1]):
        constant = body.constant(other)
        is_flat = constant is not None and constant.ndim <= _STATE_AXES
        whole = _linear(body, operand, is_source) if is_flat else None
        if whole is not None and constant is not None and constant.shape[-1:] in ((), whole[1].shape):
            return (whole[0], whole[1] + constant.reshape(-1)) if constant.size in (1, whole[1].size) else None
    return None


def _cut(body: LoopBody, node: ir.Node, value: ir.Value, whole: Linear) -> Linear | None:
    """Cut columns as the node does: it is run on the matrix and on the bias instead."""
    rest = [body.constant(tensor) for tensor in node.inputs[1:]]
    if any(constant is None for constant in rest) or not _cuts_columns(node, rest):
        return None
    matrix, bias = (_compute(node, value, [part, *rest]) for part in (whole[0], whole[1][None]))
    return None if matrix is None or bias is None else (matrix, bias[0])


def _cuts_columns(node: ir.Node, rest: list[Array | None]) -> bool:
    """Whether only the second axis of two is cut; the first is the batch, which a Slice may take whole."""
    if node.op_type == "Split":
        return node.attributes.get_int("axis", 0) in (1, -1)
    starts, ends, axes, steps = (item.tolist() if item is not None else [] for item in (*rest, None, None)[:4])
    taken = zip(axes or range(len(starts)), starts, ends, steps or [1] * len(starts), strict=True)
    return all(axis in (1, -1) or (start == 0 and end >= 2**31 - 1 and step == 1) for axis, start, end, step in taken)


def _operands(body: LoopBody, value: ir.Value | None, operation: str) -> Iterator[tuple[ir.Value, ir.Value]]:
    value = body.resolve(value)
    node = value.producer() if value is not None and is_node(value, operation) else None
    if node is not None:
        left, right = (body.resolve(operand) for operand in node.inputs)
        if left is not None and right is not None:
            yield from ((left, right), (right, left))


def _first_input(body: LoopBody, value: ir.Value) -> ir.Value | None:
    node = value.producer()
    return body.resolve(node.inputs[0]) if node is not None else None


def _is_complement(body: LoopBody, value: ir.Value, gate: ir.Value) -> bool:
    """Whether a value is 1 - gate."""
    node = value.producer() if is_node(value, "Sub") else None
    if node is None or body.resolve(node.inputs[1]) is not gate:
        return False
    one = body.constant(node.inputs[0])
    return one is not None and one.size == 1 and one.ndim <= _STATE_AXES and one.item() == 1


WHOLE = 2**31 - 1
"""What exporters write for the end of an axis; anything from here on means the same."""


def reverse_first_axis(value: ir.Value) -> None:
    """Let every reader of a value read it reversed along its first axis."""
    import onnx_ir as ir

    node, graph = value.producer(), value.graph
    assert node is not None
    assert graph is not None
    limits = [add_constant(graph, np.array([item], np.int64), value) for item in (-1, -WHOLE - 1, 0, -1)]
    reverse = ir.node("Slice", [value, *limits])
    reverse.outputs[0].type, reverse.outputs[0].shape = value.type, value.shape
    node.append(reverse)
    replace(value, reverse.outputs[0])
    reverse.replace_input_with(0, value)


def reversed_source(value: ir.Value | None, known: Mapping[ir.Value, Elements]) -> ir.Value | None:
    """Return the value that this one is, reversed along the first axis; ``None`` where it is not a reversed value."""
    value = _unswapped(value)
    node = value.producer() if value is not None and is_node(value, "ReverseSequence", "Slice") else None
    sizes = sizes_of(value)
    if node is None or not sizes:
        return None
    if node.op_type == "Slice":
        start, end, step = slice_bounds(node, known) or (0, 0, 0)
        return node.inputs[0] if start == -1 and end <= -WHOLE and step == -1 else None
    lengths = node.inputs[1]
    if lengths is not None and is_node(lengths, "Expand"):
        expand = lengths.producer()
        lengths = expand.inputs[0] if expand is not None else None
    first = node.attributes.get_int("time_axis", 0) == 0
    return node.inputs[0] if first and lengths is not None and set(known.get(lengths, ())) == {sizes[0]} else None


def _unswapped(value: ir.Value | None) -> ir.Value | None:
    nodes: list[ir.Node] = []
    inner = value
    while (
        inner is not None and len(nodes) < 2 and (node := inner.producer()) is not None and is_node(inner, "Transpose")
    ):
        nodes.append(node)
        inner = node.inputs[0]
    orders = [node.attributes.get_ints("perm", []) for node in nodes]
    cancel = len(orders) == 2 and [orders[0][place] for place in orders[1]] == sorted(orders[0])
    return inner if cancel else value


def slice_bounds(node: ir.Node, known: Mapping[ir.Value, Elements]) -> tuple[int, int, int] | None:
    """Return start, end and step of a Slice of the first axis alone."""
    bounds = [known.get(tensor) if tensor is not None else None for tensor in node.inputs[1:]]
    numbers = [
        item[0].number if item is not None and len(item) == 1 and item[0] is not None else None for item in bounds
    ]
    if len(numbers) < 3 or None in numbers or numbers[2] != 0:
        return None
    start, end, step = numbers[0] or 0, numbers[1] or 0, (numbers[3] if len(numbers) > 3 else 1) or 1
    return start, min(end, WHOLE), step
