"""Attention: products of queries with keys, and of their scores with values, and the softmax between them.

Scores that a causal mask hides count too: most runtimes compute them.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from irbench.cost_model.known_tensors import NodeView, Rules, UnknownShape, Work
from irbench.cost_model.rules.normalisation import SOFTMAX
from irbench.onnx.contributed.attention import SHARED_BUFFER

_TOTAL_LENGTH = 6
"""Which input of ``GroupQueryAttention`` is ``total_sequence_length``."""

_SOFTCAP = 3
"""Divide, tanh, multiply."""


class _Heads(NamedTuple):
    """What attends to what.

    Attributes:
        keys: Keys that each query meets, past ones included.
        heads: Heads of queries; several may share the keys of one.
    """

    queries: int
    keys: int
    heads: int
    key_size: int
    value_size: int


def _attend(shape: _Heads, *, masked: bool = False, softcap: bool = False) -> Work:
    """Count both products; for each score its scale, its mask and its softmax."""
    scores = shape.queries * shape.keys * shape.heads
    each = 1 + masked + _SOFTCAP * softcap + SOFTMAX
    return Work(scores * (shape.key_size + shape.value_size), scores * each)


def _attention(node: NodeView) -> Work:
    """Count ONNX's operator, and ONNX Runtime's, which projects its input first."""
    return _projecting(node, mask=3, past=4) if node.node.domain == "com.microsoft" else _standard(node)


def _standard(node: NodeView) -> Work:
    query, key, output = node.input_shape(0), node.input_shape(1), node.output_shape()
    past = node.input_shape(4)[-2] if node.has_input(4) else 0
    heads = query[1] if len(query) == 4 else int(node.attribute("q_num_heads", 0))
    if not heads:
        raise UnknownShape
    rows = query[0] * query[-2]
    sizes = [prod(shape) // max(1, rows * heads) for shape in (query, output)]
    shape = _Heads(rows, key[-2] + past, heads, *sizes)
    masked = node.has_input(3) or bool(node.attribute("is_causal", 0))
    return _attend(shape, masked=masked, softcap=float(node.attribute("softcap", 0.0)) != 0)


def _projecting(node: NodeView, mask: int, past: int) -> Work:
    """Count the projection of the input to queries, keys and values, and the attention."""
    batch, length, _ = shape = node.input_shape(0)
    columns = node.input_shape(1)[1]
    query, _, value = node.attribute("qkv_hidden_sizes", None) or [columns // 3] * 3
    heads = int(node.attribute("num_heads", 0))
    if not heads:
        raise UnknownShape
    attended = _attend(
        _Heads(batch * length, _projected_keys(node, length, past), heads, query // heads, value // heads),
        masked=node.has_input(mask) or bool(node.attribute("unidirectional", 0)),
    )
    biases = batch * length * columns if node.has_input(2) else 0
    return Work(prod(shape) * columns + attended.macs, biases + attended.others)


def _projected_keys(node: NodeView, length: int, past: int) -> int:
    """Return how many keys there are; of a buffer for past and present ones an input says how many are past ones."""
    if not node.has_input(past):
        return length
    stored = node.input_shape(past)[-2]
    if not node.attribute(SHARED_BUFFER, 0):
        return length + stored
    try:
        (kept,) = node.integers(past + 2)
    except UnknownShape:
        return stored
    return kept + length


def _quantised(node: NodeView) -> Work:
    """Count it like the other; its inputs 3 and 4 are scales."""
    return _projecting(node, mask=5, past=8)


def _multi_head(node: NodeView) -> Work:
    """Count queries, keys and values that are given side by side, or packed into one tensor."""
    query, output = node.input_shape(0), node.output_shape()
    heads = int(node.attribute("num_heads", 0)) or 1
    keys = query[1]
    if node.has_input(1):
        keys = node.input_shape(1)[2 if len(node.input_shape(1)) == 4 else 1]
    if node.has_input(6):
        keys += node.input_shape(6)[-2]
    key_size = query[-1] if len(query) == 5 else query[2] // heads
    shape = _Heads(query[0] * query[1], keys, heads, key_size, output[-1] // heads)
    masked = node.has_input(4) or node.has_input(5) or bool(node.attribute("unidirectional", 0))
    biases = query[0] * query[1] * (2 * heads * key_size + output[-1]) if node.has_input(3) else 0
    attended = _attend(shape, masked=masked)
    return Work(attended.macs, attended.others + biases)


def _grouped_queries(node: NodeView) -> Work:
    """Count causal attention whose heads of queries share keys and values; a window limits how many a query meets.

    ``total_sequence_length`` says how many keys there are, those of the cache included: docs/ContribOperators.md of
    ONNX Runtime.
    """
    batch, length, width = node.input_shape(0)
    heads, shared = int(node.attribute("num_heads", 0)), int(node.attribute("kv_num_heads", 0))
    if not heads or not shared:
        raise UnknownShape
    size = width // heads if node.has_input(1) else width // (heads + 2 * shared)
    keys = _cached_keys(node, length)
    limit = int(node.attribute("local_window_size", -1))
    shape = _Heads(batch * length, min(keys, limit) if limit > 0 else keys, heads, size, size)
    attended = _attend(shape, masked=True, softcap=float(node.attribute("softcap", 0.0)) != 0)
    rotated = 3 * batch * length * size * (heads + shared) if node.attribute("do_rotary", 0) else 0
    return Work(attended.macs, attended.others + rotated)


def _cached_keys(node: NodeView, length: int) -> int:
    """Return how many keys there are; a buffer for past and present keys is taken as full where nobody says more."""
    try:
        (total,) = node.integers(_TOTAL_LENGTH)
    except UnknownShape:
        past = node.input_shape(3)[-2] if node.has_input(3) else 0
        return past if node.attribute(SHARED_BUFFER, 0) else length + past
    return total


ATTENTION: Rules = {
    "Attention": _attention,
    "GroupQueryAttention": _grouped_queries,
    "MultiHeadAttention": _multi_head,
    "QAttention": _quantised,
}
