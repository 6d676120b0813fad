"""Let attention append keys and values to a cache (Pope et al., 2022, section 3.3) by itself.

1. Attention(q, Concat(past keys, k), Concat(past values, v), mask)
   -> Attention(q, k, v, mask, past keys, past values), which also answers both concatenations

All have the axes (batch, heads, length, width), and both concatenations are along the length, of a cache and what is
new, in this order. What the model answers or computes of them besides is read from the attention then, so attention
must not depend on that. It has one output, no mask along a diagonal of its own (``is_causal``), and its sizes are
known, dynamic ones by name.

Both concatenations must be read by others too, by the model's caller for example: ONNX Runtime and OpenVINO ask for
them where a cache is given. Heads are joined by the second rule of ``fuse_attention``, which is applied again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from irbench.onnx.body_shapes import bodies_of
from irbench.onnx.shapes import infer
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools.edit import clean, insert_with_outputs, is_node, replace
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_ir as ir

_LENGTH = 2
_ATTRIBUTES = {"kv_num_heads", "q_num_heads", "scale"}
_FIRST_CACHE = 4
"""Where the cache stands among the inputs, behind queries, keys, values and mask."""


class _Appended(NamedTuple):
    """A cache and what is appended to it."""

    past: ir.Value
    new: ir.Value
    present: ir.Value


def _fuse_key_value_cache(model: ir.Model) -> bool:
    infer(model)
    nodes = [node for node in model.graph if is_node(node.outputs[0], "Attention")]
    changed = sum([_fuse(node) for node in nodes]) > 0
    if changed:
        model.graph.sort()  # what read a concatenation may have stood before its attention
    clean(model)
    return changed


def _fuse(node: ir.Node) -> bool:
    """Rule 1."""
    is_plain = len(node.inputs) <= _FIRST_CACHE and len(node.outputs) == 1 and set(node.attributes) <= _ATTRIBUTES
    queries, *both = node.inputs[:3]
    keys, values = (_appended(value, node) for value in both)
    if not is_plain or keys is None or values is None:
        return False
    if _lengths(keys) != _lengths(values) or keys.present is values.present:
        return False
    mask = list(node.inputs[3:])
    if _depends([queries, keys.past, keys.new, values.past, values.new, *mask], [keys.present, values.present]):
        return False
    inputs = [queries, keys.new, values.new, *(mask or [None]), keys.past, values.past]
    made = insert_with_outputs(node, "Attention", inputs, dict(node.attributes), 3)
    for old, new in zip((node.outputs[0], keys.present, values.present), made, strict=True):
        new.type, new.shape = old.type, old.shape
        replace(old, new)
    return True


def _appended(value: ir.Value | None, reader: ir.Node) -> _Appended | None:
    """Read a concatenation along the length that others read as well."""
    node = value.producer() if value is not None and is_node(value, "Concat") else None
    if value is None or node is None or len(node.inputs) != 2:
        return None
    past, new = node.inputs
    is_along = node.attributes.get_int("axis", 0) in (_LENGTH, _LENGTH - 4)
    if past is None or new is None or not is_along or any(len(sizes_of(part) or ()) != 4 for part in (past, new)):
        return None
    others = [use.node for use in value.uses() if use.node is not reader and use.node.op_type != "Shape"]
    return _Appended(past, new, value) if others or value.is_graph_output() else None


def _lengths(cache: _Appended) -> Sequence[object]:
    """Return batch, heads and lengths, in which keys and values agree; their widths may differ."""
    return [list((sizes_of(part) or ())[:-1]) for part in (cache.past, cache.new)]


def _depends(values: Sequence[ir.Value | None], on: Sequence[ir.Value]) -> bool:
    """Whether any of some values is computed from others."""
    unseen, seen = {value for value in values if value is not None}, set[object]()
    while unseen:
        value = unseen.pop()
        if value in on:
            return True
        seen.add(value)
        node = value.producer()
        read = _read_by(node) if node is not None else ()
        unseen |= {source for source in read if source not in seen}
    return False


def _read_by(node: ir.Node) -> Sequence[ir.Value]:
    """Return what a node reads, in its bodies too."""
    inner = (value for body in bodies_of(node) for part in body.all_nodes() for value in part.inputs)
    return [value for value in (*node.inputs, *inner) if value is not None]


fuse_key_value_cache: Pass = Rewrite(
    "fuse_key_value_cache", "attention that appends to its cache of keys and values", _fuse_key_value_cache, opset=23
)
