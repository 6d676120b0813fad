"""Find sequences that are reversed along their first axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.elements import Elements
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.rewrite.edit import add_constant, is_node, replace

if TYPE_CHECKING:
    import onnx_ir as ir

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
    """Look through two transpositions that cancel."""
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
    given = [known.get(tensor) if tensor is not None else None for tensor in node.inputs[1:]]
    numbers = [
        item[0].number if item is not None and len(item) == 1 and item[0] is not None else None for item in given
    ]
    if len(numbers) < 3 or None in numbers or numbers[2] != 0:
        return None
    start, end, step = numbers[0] or 0, numbers[1] or 0, (numbers[3] if len(numbers) > 3 else 1) or 1
    return start, min(end, WHOLE), step
