"""Turn a Loop that runs a gated recurrent unit into a GRU node.

1. Loop of h = z * h + (1 - z) * tanh(...) over a sequence      -> GRU, with linear_before_reset where the reset gate
                                                                   multiplies after the matrix
2. Last step of the outputs of a forward GRU                    -> its last state
3. GRU of a reversed sequence                                   -> GRU in reverse direction, its outputs reversed
4. A sequence reversed twice                                    -> the sequence
5. Outputs, or last states, of a forward and a reverse GRU of   -> outputs or last states of one bidirectional GRU
   one sequence, side by side

The Loop runs as many times as the sequence is long, and nothing else in it changes. Masks, activations other than
sigmoid and tanh, and states that others read stay a Loop. Rules 2, 3 and 5 are for what rule 1 wrote: a GRU that the
model had may have sequences of several lengths, a clip, activations or a layout of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, Elements, Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import (
    add_constant,
    clean,
    insert,
    insert_reshape,
    is_node,
    only_reader,
    replace,
    scalar,
    weight,
)
from irbench.optimizer.pass_tools.recurrence import (
    WHOLE,
    GatedUnit,
    LoopBody,
    read_body,
    read_cell,
    reverse_first_axis,
    reversed_source,
    slice_bounds,
)
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_SEQUENCE_AXES = 3


def _loop_to_gru(model: ir.Model) -> bool:
    known = infer(model)
    loops = [node for node in model.graph if is_node(node.outputs[0], "Loop")]
    new_nodes = {gru for node in loops if (gru := _replace_loop(node, known)) is not None}
    if not new_nodes:
        return False
    clean(model)
    for rule in (_take_state, _run_backwards, _cancel_reversals, _run_both_ways):
        known = infer(model)
        for node in list(model.graph):
            if node.graph is not None and any(tensor.uses() or tensor.is_graph_output() for tensor in node.outputs):
                rule(node, known, new_nodes)
        clean(model)
    infer(model)
    merge_layouts(model)
    clean(model)
    return True


def _replace_loop(loop: ir.Node, known: Mapping[ir.Value, Elements]) -> ir.Node | None:
    """Rule 1."""
    body = read_body(loop)
    cell = read_cell(body) if body is not None and _runs_through(loop, body, known) else None
    if body is None or cell is None or loop.graph is None:
        return None
    inner = loop.attributes["body"].as_graph()
    read = {place: tensor for place, tensor in enumerate(loop.outputs) if tensor.uses() or tensor.is_graph_output()}
    if any(body.resolve(inner.outputs[1 + place]) is not body.following for place in read):
        return None
    gru = _gru(loop, body, cell)
    for place, value in read.items():
        last = place < len(loop.inputs) - 2
        axis = add_constant(loop.graph, np.array([0 if last else 1], np.int64), value)
        replace(value, insert(loop, "Squeeze", [gru.outputs[1 if last else 0], axis]))
    for node in inner.all_nodes():
        for place in range(len(node.inputs)):
            node.replace_input_with(place, None)  # a body that is gone must not count as a reader
    return gru


def _gru(loop: ir.Node, body: LoopBody, cell: GatedUnit) -> ir.Node:
    import onnx_ir as ir

    graph = loop.graph
    assert graph is not None
    bias = np.concatenate([cell.bias, cell.recurrent_bias])
    weights = [add_constant(graph, array[None], body.start) for array in (cell.kernel.T, cell.recurrent.T, bias)]
    inputs: list[ir.Value | None] = [body.sequence, *weights]
    if not _is_zero(body.start):
        axis = add_constant(graph, np.array([0], np.int64), body.start)
        inputs += [None, insert(loop, "Unsqueeze", [body.start, axis])]
    attributes = {"hidden_size": len(cell.recurrent), "linear_before_reset": int(cell.reset_after)}
    gru = ir.node("GRU", inputs, attributes, num_outputs=2)
    for output in gru.outputs:
        output.type = body.sequence.type
    loop.prepend(gru)
    return gru


def _is_zero(value: ir.Value) -> bool:
    node = value.producer() if is_node(value, "Expand") else None
    constant = weight(node.inputs[0] if node is not None else value)
    return constant is not None and not constant.any()


def _runs_through(loop: ir.Node, body: LoopBody, known: Mapping[ir.Value, Elements]) -> bool:
    """Whether the Loop runs exactly as often as the sequence has steps, each of a batch."""
    sizes, (trips, condition) = sizes_of(body.sequence), loop.inputs[:2]
    if sizes is None or trips is None or known.get(trips) != (sizes[0],) or not _starts_per_sample(body.start, sizes):
        return False
    started = condition is None or bool(np.all(weight(condition)))
    return started and _stays_true(loop.attributes["body"].as_graph().outputs[0], body, sizes[0], known)


def _starts_per_sample(start: ir.Value, sizes: Sequence[Size]) -> bool:
    """Whether the steps are (batch, width) and the state (batch, units), or zero and stretched to that."""
    start_sizes = sizes_of(start)
    if start_sizes is None or len(sizes) != _SEQUENCE_AXES:
        return False
    return list(start_sizes[:-1]) in ([[sizes[1]], [ONE], []] if _is_zero(start) else [[sizes[1]]])


def _stays_true(value: ir.Value | None, body: LoopBody, steps: Size, known: Mapping[ir.Value, Elements]) -> bool:
    """Whether a condition of the body holds up to the last step but one; a counter may be compared before or after."""
    value = body.resolve(value)
    node = value.producer() if value is not None else None
    if value is None or node is None:
        return value is not None and value.const_value is not None and bool(value.const_value.numpy().all())
    if is_node(value, "And"):
        return all(_stays_true(tensor, body, steps, known) for tensor in node.inputs)
    if not is_node(value, "Less"):
        return False
    counter, limit = (_uncast(body, tensor) for tensor in node.inputs)
    if counter not in body.counters or limit is None:
        return False
    number = scalar(limit)
    size = Size(int(number)) if number is not None else (known.get(limit) or (None,))[0]
    return size == steps or (size is not None and None not in (size.number, steps.number) and size >= steps)


def _uncast(body: LoopBody, value: ir.Value | None) -> ir.Value | None:
    value = body.resolve(value)
    while value is not None and is_node(value, "Cast"):
        node = value.producer()
        value = body.resolve(node.inputs[0]) if node is not None else None
    return value


def _take_state(node: ir.Node, known: Mapping[ir.Value, Elements], new_nodes: set[ir.Node]) -> None:
    """Rule 2."""
    if not is_node(node.outputs[0], "Slice") or slice_bounds(node, known) != (-1, WHOLE, 1):
        return
    gru = _gru_of(node.inputs[0])
    if gru is not None and gru in new_nodes and _direction(gru) == "forward":
        gru.resize_outputs(2)
        gru.outputs[1].type, gru.outputs[1].name = gru.outputs[0].type, f"{gru.outputs[0].name}_last"
        replace(node.outputs[0], gru.outputs[1])


def _run_backwards(node: ir.Node, known: Mapping[ir.Value, Elements], new_nodes: set[ir.Node]) -> None:
    """Rule 3."""
    import onnx_ir as ir

    source = reversed_source(node.inputs[0], known) if node in new_nodes else None
    outputs = [_reader(use.node) for use in node.outputs[0].uses()]
    if source is None or _direction(node) != "forward" or None in outputs or node.graph is None:
        return
    node.replace_input_with(0, source)
    node.attributes["direction"] = ir.AttrString("direction", "reverse")
    for output in outputs:
        assert output is not None
        reverse_first_axis(output)


def _reader(node: ir.Node) -> ir.Value | None:
    return node.outputs[0] if is_node(node.outputs[0], "Squeeze") else None


def _cancel_reversals(node: ir.Node, known: Mapping[ir.Value, Elements], _: set[ir.Node]) -> None:
    """Rule 4."""
    source = reversed_source(reversed_source(node.outputs[0], known), known)
    if source is not None and not node.outputs[0].is_graph_output():
        replace(node.outputs[0], source)


def _gru_of(value: ir.Value | None, output: int = 0) -> ir.Node | None:
    """Return the GRU whose outputs (0) or last state (1) a value is, without the axis of directions."""
    node = value.producer() if value is not None and is_node(value, "Squeeze") else None
    source = node.inputs[0] if node is not None else None
    axes = weight(node.inputs[1]) if node is not None and len(node.inputs) > 1 else None
    if source is None or axes is None or not is_node(source, "GRU") or axes.tolist() != [1 - output]:
        return None
    return source.producer() if source.index() == output else None


def _direction(gru: ir.Node) -> str:
    return str(gru.attributes.get_string("direction", "forward"))


def _run_both_ways(node: ir.Node, _: Mapping[ir.Value, Elements], new_nodes: set[ir.Node]) -> None:
    """Rule 5."""
    sizes = sizes_of(node.outputs[0])
    if not is_node(node.outputs[0], "Concat") or sizes is None or len(node.inputs) != 2:
        return
    for output in (0, 1):
        pair = [_gru_of(value, output) for value in node.inputs]
        last_axis = node.attributes.get_int("axis", 0) % len(sizes) == len(sizes) - 1
        if not last_axis or not set(pair) <= new_nodes or not _fit_together(pair):
            continue
        both = _joined(node, [gru for gru in pair if gru is not None])
        batch_first = [0, 2, 1, 3] if output == 0 else [1, 0, 2]
        before = [*sizes[:-2], Size(2), sizes[-2], Size((sizes[-1].number or 0) // 2)]
        set_sizes(both.outputs[output], before)
        moved = insert(node, "Transpose", [both.outputs[output]], {"perm": batch_first})
        set_sizes(moved, [before[place] for place in batch_first])
        value = insert_reshape(node, moved, sizes)
        if value is not None and product(before) == product(sizes):
            replace(node.outputs[0], value)


def _fit_together(pair: list[ir.Node | None]) -> bool:
    """Whether two GRUs read one sequence in both directions, and nobody else reads what they output."""
    if None in pair:
        return False
    forward, reverse = (member for member in pair if member is not None)
    return (
        [_direction(forward), _direction(reverse)] == ["forward", "reverse"]
        and forward.inputs[0] is reverse.inputs[0]
        and len(forward.inputs) == len(reverse.inputs) == 4
        and all(sum(len(list(tensor.uses())) for tensor in gru.outputs) == 1 for gru in (forward, reverse))
        and all(
            only_reader(tensor) is not None for gru in (forward, reverse) for tensor in gru.outputs if tensor.uses()
        )
        and all(
            forward.attributes.get_int(name, 0) == reverse.attributes.get_int(name, 0)
            for name in ("hidden_size", "linear_before_reset")
        )
    )


def _joined(before: ir.Node, pair: list[ir.Node]) -> ir.Node:
    import onnx_ir as ir

    first, graph = pair[0], before.graph
    assert graph is not None
    arrays = [[weight(gru.inputs[place]) for gru in pair] for place in (1, 2, 3)]
    joined = [np.concatenate([array for array in parts if array is not None]) for parts in arrays]
    weights = [add_constant(graph, array, first.outputs[0]) for array in joined]
    both = ir.node("GRU", [first.inputs[0], *weights], dict(first.attributes), num_outputs=2)
    both.attributes["direction"] = ir.AttrString("direction", "bidirectional")
    for output in both.outputs:
        output.type = first.outputs[0].type
    before.prepend(both)
    return both


loop_to_gru: Pass = Rewrite("loop_to_gru", "a Loop that runs a gated recurrent unit as one node", _loop_to_gru)
