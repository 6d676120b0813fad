"""Attention with its projections, for runtimes that read Microsoft's operators.

1. Attention of x @ wq + bq, x @ wk + bk, x @ wv + bv     -> Attention(x, [wq, wk, wv], [bq, bk, bv])
2. Attention of q + bq, k[ + bk], v + bv                  -> MultiHeadAttention(q, k, v, [bq, bk, bv])

Weights and biases are constants, a bias with one axis, the last of what it is added to; in rule 1 the biases may be
missing, in rule 2 that of the keys, which ``fuse_attention`` leaves out. One projection that is split into queries,
keys and values counts as three. Attention is that of ONNX with three axes and as many heads of keys as of queries, in
float32 or float16. A mask is added and has the axes (batch, heads, queries, keys), the last two whole; its sizes are
known, dynamic ones by name. The scale of rule 1 is folded into wq and bq as far as it is not one over the root of a
head's width, because OpenVINO overlooks the attribute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import ONE, Size, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, clean, is_node, only_reader, replace, weight
from irbench.optimizer.pass_tools.microsoft import MICROSOFT, bias_of, is_read
from irbench.optimizer.passes import Rewrite
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    import onnx_ir as ir


@dataclass(frozen=True)
class _Projection:
    """A value that is ``source @ matrix + bias``; without a matrix ``source + bias``."""

    source: ir.Value
    matrix: Array | None
    bias: Array | None


def _pack_attention(model: ir.Model) -> bool:
    infer(model)
    nodes = [node for node in model.graph if is_node(node.outputs[0], "Attention")]
    changed = sum(_pack(node) for node in nodes) > 0
    if changed:
        model.graph.opset_imports[MICROSOFT] = 1
        clean(model)
    return changed


def _pack(node: ir.Node) -> bool:
    heads = node.attributes.get_int("q_num_heads", 0)
    plain = set(node.attributes) <= {"q_num_heads", "kv_num_heads", "scale"}
    if len(sizes_of(node.inputs[0]) or ()) != 3:  # with four axes the heads are split already
        return False
    if not heads or node.attributes.get_int("kv_num_heads", 0) != heads or not plain or len(node.outputs) != 1:
        return False
    mask = node.inputs[3] if len(node.inputs) == 4 else None
    if len(node.inputs) > 4 or not is_read(node.inputs[0]) or node.attributes.get_float("scale", 1.0) <= 0:
        return False
    if mask is not None and not _is_addend(mask, node, heads):
        return False
    parts = [_projection(node, value) for value in node.inputs[:3] if value is not None]
    return _whole(node, parts, heads, mask) or _biases(node, parts, heads, mask)


def _is_addend(mask: ir.Value, node: ir.Node, heads: int) -> bool:
    """Whether a mask is added and known to be as large as the scores, along whose last axes no kernel stretches it."""
    sizes, queries, keys = (sizes_of(tensor) for tensor in (mask, *node.inputs[:2]))
    if mask.dtype is None or not mask.dtype.is_floating_point() or sizes is None or queries is None or keys is None:
        return False
    whole = [queries[0], Size(heads), queries[1], keys[1]]
    stretched = all(length in (ONE, size) for length, size in zip(sizes[:2], whole, strict=False))
    return len(sizes) == 4 and stretched and sizes[2:] == whole[2:]


def _projection(node: ir.Node, value: ir.Value) -> _Projection:
    """Take apart what nobody but the attention reads, a part of a packed projection like one by itself."""
    split = value.producer() if is_node(value, "Split") and only_reader(value) is node else None
    if split is not None and split.inputs[0] is not None:
        return _part(split, split.inputs[0], split.outputs.index(value))
    bias: Array | None = None
    add, sum_parts = value.producer(), bias_of(value)
    if add is not None and sum_parts is not None and only_reader(value) is node:
        node, value, bias = add, sum_parts[0], weight(sum_parts[1])
    product = value.producer() if is_node(value, "MatMul") and only_reader(value) is node else None
    matrix = weight(product.inputs[1]) if product is not None else None
    if product is not None and product.inputs[0] is not None and matrix is not None and matrix.ndim == 2:
        return _Projection(product.inputs[0], matrix, bias)
    return _Projection(value, None, bias)


def _part(split: ir.Node, whole: ir.Value, place: int) -> _Projection:
    packed = _projection(split, whole)
    sizes = [list(sizes_of(output) or ()) for output in split.outputs]
    last = split.attributes.get_int("axis", 0) in (-1, len(sizes[0]) - 1)
    if packed.matrix is None or not last or any(part != sizes[0] for part in sizes):
        return _Projection(split.outputs[place], None, None)
    count = len(sizes)
    matrix = np.split(packed.matrix, count, axis=1)[place]
    return _Projection(packed.source, matrix, None if packed.bias is None else np.split(packed.bias, count)[place])


def _whole(node: ir.Node, parts: list[_Projection], heads: int, mask: ir.Value | None) -> bool:
    """Rule 1."""
    source, graph = parts[0].source, node.graph
    matrices = [part.matrix for part in parts if part.matrix is not None and part.source is source]
    if len(matrices) < 3 or len({matrix.shape for matrix in matrices}) > 1 or graph is None:
        return False
    width = matrices[0].shape[1]
    biases = [np.zeros(width, matrices[0].dtype) if part.bias is None else part.bias for part in parts]
    rest = node.attributes.get_float("scale", 0.0) * (width // heads) ** 0.5 or 1.0
    factors = [np.asarray(rest, matrices[0].dtype), *np.ones(2, matrices[0].dtype)]
    packed = np.concatenate([matrix * factor for matrix, factor in zip(matrices, factors, strict=True)], axis=1)
    bias = np.concatenate([bias * factor for bias, factor in zip(biases, factors, strict=True)])
    constants = [add_constant(graph, array, node.outputs[0]) for array in (packed, bias)]
    inputs = [source, *constants, *([] if mask is None else [None, None, mask])]
    _put(node, "Attention", inputs, {"num_heads": heads})
    return True


def _biases(node: ir.Node, parts: list[_Projection], heads: int, mask: ir.Value | None) -> bool:
    """Rule 2."""
    sums, graph = [bias_of(value) for value in node.inputs[:3]], node.graph
    queries, keys, values = (part.bias for part in parts)
    if queries is None or values is None or graph is None:
        return False
    if any((part.bias is None) != (sum_parts is None) for part, sum_parts in zip(parts, sums, strict=True)):
        return False  # part of what is split, or read by others too
    biases = [queries, np.zeros_like(queries) if keys is None else keys, values]
    if len({bias.size for bias in biases} | {(sizes_of(node.inputs[1]) or [ONE])[-1].number}) > 1:
        return False
    sources = [
        value if sum_parts is None else sum_parts[0] for value, sum_parts in zip(node.inputs[:3], sums, strict=True)
    ]
    packed = add_constant(graph, np.concatenate(biases), node.outputs[0])
    scale = node.attributes.get_float("scale", 0.0) or (biases[0].size // heads) ** -0.5
    inputs = [*sources, packed, *([] if mask is None else [None, mask])]
    _put(node, "MultiHeadAttention", inputs, {"num_heads": heads, "scale": scale})
    return True


def _put(node: ir.Node, operation: str, inputs: list[ir.Value | None], attributes: dict[str, int | float]) -> None:
    import onnx_ir as ir

    packed = ir.node(operation, inputs, attributes, domain=MICROSOFT)
    packed.outputs[0].type, packed.outputs[0].shape = node.outputs[0].type, node.outputs[0].shape
    node.prepend(packed)
    replace(node.outputs[0], packed.outputs[0])


pack_attention: Pass = Rewrite(
    "pack_attention",
    "attention and its projections in one of Microsoft's operators",
    _pack_attention,
    opset=23,
    vendor=MICROSOFT,
)
