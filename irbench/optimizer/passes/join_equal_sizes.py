"""Compute sizes once where several tensors have the same ones.

1. A dynamic size of an input that is asked of another tensor                                 -> asked of the input
2. Two small integer tensors, each element of them the same number or the same dynamic size   -> the first of them

Each layer of a model asks for the sizes of its own input. Where those are dynamic, ``fold_shapes`` can put no constant.
But they are the same in all layers, and so is what is computed from them: positions, masks, tables. What then is the
same operation on the same inputs is joined by ``remove_redundant``. And a tensor inside a layer of which nobody asks
sizes, as a causal mask asks the scores of an attention, does not stand in the way of a fusion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import ONE, Elements, Size, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, clean, described, insert, replace
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_SIZES = ("Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze")
"""Operations that pick and arrange sizes."""
_Key: TypeAlias = tuple[Elements, str, int]
"""What two tensors have in common of which one can take the place of the other: elements, type and rank."""


def _join_equal_sizes(model: ir.Model) -> bool:
    known = infer(model)
    modified = len(model.graph) > 0 and _ask_inputs(model.graph, known)
    joined = _join(model.graph, known)
    if modified or joined:
        clean(model)
    return modified or joined


def _ask_inputs(graph: ir.Graph, known: dict[ir.Value, Elements]) -> bool:
    places, first = _places(graph), graph[0]
    sizes_by_key: dict[_Key, ir.Value] = {}
    for value in _asked_within(graph):
        key = _key(value, known)
        if key is None or len(key[0]) != 1 or key[0][0] not in places or not _can_go(value):
            continue
        if key not in sizes_by_key:
            sizes_by_key[key] = _asked(first, places[key[0][0]], value)
            known[sizes_by_key[key]] = key[0]
        replace(value, sizes_by_key[key])
    return bool(sizes_by_key)


def _places(graph: ir.Graph) -> dict[Size | None, tuple[ir.Value, int]]:
    """Return where each dynamic size of an input stands: the input, which is a tensor, and the axis."""
    import onnx_ir as ir

    places: dict[Size | None, tuple[ir.Value, int]] = {}
    for value in (value for value in graph.inputs if isinstance(value.type, ir.TensorType)):
        for axis, size in enumerate(sizes_of(value) or ()):
            if size.names:
                places.setdefault(size, (value, axis))
    return places


def _asked_within(graph: ir.Graph) -> list[ir.Value]:
    values: dict[ir.Value, None] = {}
    for node in graph:
        if node.domain == "" and (
            any(value in values for value in node.inputs)
            if node.op_type in _SIZES
            else node.op_type == "Shape" and node.inputs[0] is not None and not node.inputs[0].is_graph_input()
        ):
            values[node.outputs[0]] = None
    return list(values)


def _asked(before: ir.Node, place: tuple[ir.Value, int], like: ir.Value) -> ir.Value:
    """Return the size at a place, computed in front of a node, with the type and the rank of a value."""
    import onnx_ir as ir

    assert before.graph is not None
    assert like.dtype is not None
    source, axis = place
    ones = [ONE] * len(like.shape or ())
    if _is_part_of_shape(like):
        size = described(insert(before, "Shape", [source], {"start": axis, "end": axis + 1}), ir.DataType.INT64, ones)
    else:
        index = add_constant(before.graph, np.full((1,) * len(ones), axis, np.int64), source)
        shape = described(insert(before, "Shape", [source]), ir.DataType.INT64, [Size(len(source.shape or ()))])
        size = described(insert(before, "Gather", [shape, index], {"axis": 0}), ir.DataType.INT64, ones)
    if like.dtype == ir.DataType.INT64:
        return size
    return described(insert(before, "Cast", [size], {"to": like.dtype.value}), like.dtype, ones)


def _is_part_of_shape(value: ir.Value) -> bool:
    """Whether a Shape gives some sizes alone, as it can from opset 15 on."""
    node = value.producer()
    return node is not None and node.op_type == "Shape" and not {"start", "end"}.isdisjoint(node.attributes)


def _join(graph: ir.Graph, known: dict[ir.Value, Elements]) -> bool:
    first: dict[_Key, ir.Value] = {}
    changed = False
    for node in list(graph):
        value = node.outputs[0]
        key = _key(value, known)
        earlier = first.setdefault(key, value) if key is not None else value
        if earlier is not value and _can_go(value):
            replace(value, earlier)
            changed = True
    return changed


def _key(value: ir.Value, known: dict[ir.Value, Elements]) -> _Key | None:
    elements, dtype, shape = known.get(value), value.dtype, value.shape
    if elements is None or None in elements or dtype is None or shape is None:
        return None
    return elements, dtype.name, len(shape)


def _can_go(value: ir.Value) -> bool:
    node = value.producer()
    return node is not None and len(node.outputs) == 1 and bool(value.uses()) and not value.is_graph_output()


join_equal_sizes: Pass = Rewrite("join_equal_sizes", "sizes computed once where they are the same", _join_equal_sizes)
