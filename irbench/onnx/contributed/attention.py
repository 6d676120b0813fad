"""Shapes of attention: what attends, and the keys and values that are kept for the next call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.contributed.context import (
    Dimension,
    NodeTypes,
    ShapeRules,
    UnknownInputType,
    dimension_of,
    plus,
    times,
)

if TYPE_CHECKING:
    import onnx

_MS = "com.microsoft"

SHARED_BUFFER = "past_present_share_buffer"
"""Attribute of a node whose past and present keys lie in one buffer, which keeps its length; ``GroupQueryAttention``
has none that says so: :func:`mark_shared_buffers`."""


def mark_shared_buffers(graph: onnx.GraphProto) -> None:
    """Set the attribute of grouped queries whose past and present keys have the same length in what the file states."""
    from onnx import helper

    lengths = {value.name: _stated_length(value) for value in (*graph.input, *graph.output)}
    for node in graph.node:
        if (node.domain, node.op_type) != (_MS, "GroupQueryAttention") or len(node.input) < 4 or len(node.output) < 2:
            continue
        past, present = lengths.get(node.input[3]), lengths.get(node.output[1])
        if past is not None and past == present and past != 0:
            node.attribute.append(helper.make_attribute(SHARED_BUFFER, 1))


def _stated_length(value: onnx.ValueInfoProto) -> Dimension:
    sizes = value.type.tensor_type.shape.dim
    return dimension_of(sizes[2]) if len(sizes) == 4 else None


def _projecting(node: NodeTypes, past: int, dtype_of: int) -> None:
    batch, length, _ = node.shape(0)
    columns = node.shape(1)[1]
    sizes = node.attribute("qkv_hidden_sizes", None)
    heads = int(node.attribute("num_heads", 0))
    if not isinstance(columns, int) or not heads:
        raise UnknownInputType
    value = sizes[2] if sizes else columns // 3
    dtype = node.dtype(dtype_of)
    node.set_output(0, dtype, [batch, length, value])
    keys = length
    if node.has_input(past):
        stored = node.shape(past)[-2]
        keys = stored if node.attribute(SHARED_BUFFER, 0) else plus(length, stored)
    node.set_output(1, dtype, [2, batch, heads, keys, value // heads])


def _attention(node: NodeTypes) -> None:
    _projecting(node, past=4, dtype_of=0)


def _quantised(node: NodeTypes) -> None:
    _projecting(node, past=8, dtype_of=3)


def _multi_head(node: NodeTypes) -> None:
    """Infer from a query of three axes, or of five where queries, keys and values are packed into it."""
    query = node.shape(0)
    heads = int(node.attribute("num_heads", 0))
    if not heads:
        raise UnknownInputType
    width, keys = _value_width(node, heads), _key_length(node)
    node.set_output(0, node.dtype(0), [*query[:2], width])
    size = width // heads if isinstance(width, int) else None
    keys = plus(keys, node.shape(6)[-2]) if node.has_input(6) else keys
    for place in (1, 2):
        node.set_output(place, node.dtype(0), [query[0], heads, keys, size])


def _value_width(node: NodeTypes, heads: int) -> Dimension:
    if node.has_input(2):
        values = node.shape(2)
        return times(values[1], values[3]) if len(values) == 4 else values[-1]
    query = node.shape(0)
    if len(query) == 5:
        return times(heads, query[-1])
    keys = node.shape(1)  # keys and values are packed: batch, length, heads, 2, size
    return times(heads, keys[-1])


def _key_length(node: NodeTypes) -> Dimension:
    if not node.has_input(1):
        return node.shape(0)[1]
    keys = node.shape(1)
    return keys[2] if len(keys) == 4 else keys[1]


def _grouped_queries(node: NodeTypes) -> None:
    batch, length, width = node.shape(0)
    heads, shared = int(node.attribute("num_heads", 0)), int(node.attribute("kv_num_heads", 0))
    if not isinstance(width, int) or not heads or not shared:
        raise UnknownInputType
    size = width // heads if node.has_input(1) else width // (heads + 2 * shared)
    node.set_output(0, node.dtype(0), [batch, length, heads * size])
    keys = _present_length(node, length)
    for place in (1, 2):
        node.set_output(place, node.dtype(0), [batch, shared, keys, size])


def _present_length(node: NodeTypes, length: Dimension) -> Dimension:
    """Return the longer of the cache and of ``total_sequence_length``, as ONNX Runtime does where it knows both.

    The source is ``BaseGroupQueryAttentionTypeAndShapeInference`` in its ``bert_defs.cc``.
    """
    past = node.shape(3)[-2] if node.has_input(3) else 0
    if past and node.attribute(SHARED_BUFFER, 0):
        return past
    total = node.integer(6)
    if total is None or not isinstance(past, int):
        return plus(length, past)
    return max(past, total)


ATTENTION: ShapeRules = {
    (_MS, "Attention"): _attention,
    (_MS, "GroupQueryAttention"): _grouped_queries,
    (_MS, "MultiHeadAttention"): _multi_head,
    (_MS, "QAttention"): _quantised,
}
