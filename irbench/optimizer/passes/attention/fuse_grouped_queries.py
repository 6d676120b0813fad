"""Let heads of queries share keys and values (Ainslie et al., 2023) without repeating those.

1. Attention(q, repeated k, repeated v)     -> Attention(q, k, v), with fewer heads of keys and values

Queries, keys and values have the axes (batch, heads, length, width); each head of keys and of values is there several
times in succession, equally often, by Tile, Expand, Gather or Concat. Heads are joined by the second rule of
``fuse_attention``, which is applied again after this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools.edit import clean, is_node
from irbench.optimizer.pass_tools.repetition import read_repetition, write_unrepeated
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _fuse_grouped_queries(model: ir.Model) -> bool:
    infer(model)
    nodes = [node for node in model.graph if is_node(node.outputs[0], "Attention")]
    changed = sum([_group(node) for node in nodes]) > 0
    clean(model)
    if changed:
        merge_layouts(model)
        clean(model)
    return changed


def _group(node: ir.Node) -> bool:
    """Rule 1."""
    ranks = [len(sizes_of(value) or ()) for value in node.inputs[:3]]
    repetitions = [read_repetition(value) for value in node.inputs[1:3]]
    keys, values = repetitions
    if ranks != [4, 4, 4] or len(node.inputs) > 4 or keys is None or values is None or keys.groups != values.groups:
        return False
    inputs = [write_unrepeated(repetition, node) for repetition in (keys, values)]
    if None in inputs:
        return False
    for place, value in enumerate(inputs, start=1):
        node.replace_input_with(place, value)
    if "kv_num_heads" in node.attributes:
        import onnx_ir as ir

        node.attributes.add(ir.AttrInt64("kv_num_heads", node.attributes.get_int("kv_num_heads", 0) // keys.groups))
    return True


fuse_grouped_queries: Pass = Rewrite(
    "fuse_grouped_queries", "attention whose heads of queries share keys and values", _fuse_grouped_queries, opset=23
)
