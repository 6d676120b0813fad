"""Fuse scaled dot-product attention (Vaswani et al., 2017, section 3.2) into ONNX's Attention.

1. MatMul(Softmax(MatMul(q, transposed k) * scale + mask), v)                  -> Attention(q, k, v, mask)
2. Attention of q, k and v that are split into heads, heads joined after it    -> Attention(q, k, v) that does so itself

:mod:`irbench.optimizer.rewrite.attention_chain` says what rule 1 takes for scale and mask, and what may stand in
between; :mod:`irbench.optimizer.rewrite.attention_mask` says which mask is added. The scale is positive, as ONNX asks.
Queries, keys and values have axes (batch, heads, length, width), or (batch, length, width) for one head without a mask.

A row of which nothing is kept weighs all keys alike, as it did in the model; where the model put zeros for the weights
of what is not kept, such a row becomes zero. Where the model put minus infinity, its answer for such a row was not a
number.

For rule 2 the axes are (batch, length, heads * width) before they are split and after they are joined. Rows may be put
to zero before they are joined, whatever their head.

Both rules ask for known sizes, dynamic ones by name, and leave branches and bodies of loops alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.optimizer.rewrite.attention_chain import AttentionChain, read_attention
from irbench.optimizer.rewrite.attention_mask import build_mask, build_row_condition, is_maskable
from irbench.optimizer.rewrite.edit import clean, insert, is_node, replace, weight
from irbench.optimizer.rewrite.inserter import Inserter
from irbench.optimizer.rewrite.rules import ANY, Rule, apply_rules, either, holds
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["fuse_attention"]

_HEADS_FIRST = [0, 2, 1, 3]


def _fuse_attention(model: ir.Model) -> bool:
    infer(model)
    products = [node for node in model.graph if is_node(node.outputs[0], "MatMul")]
    fused = sum([_fuse(node) for node in products]) > 0
    clean(model)
    infer(model)
    merge_layouts(model)
    clean(model)
    return apply_rules(model, [Rule(_heads, _join_heads, _joins)]) or fused


def _fuse(node: ir.Node) -> bool:
    """Rule 1."""
    chain = read_attention(node)
    scores = None if chain is None else _scores(chain, node)
    if chain is None or scores is None or not 0 < chain.scale < np.inf or not is_maskable(chain, scores):
        return False
    inserter, dtype = Inserter(node), chain.product.dtype
    if dtype is None or not dtype.is_floating_point():
        return False
    is_masked = bool(chain.added or chain.choices)
    mask = build_mask(inserter, chain, scores, dtype) if is_masked else None
    rows = build_row_condition(inserter, chain.zeroed, scores) if chain.zeroed is not None else None
    if (is_masked and mask is None) or (chain.zeroed is not None and rows is None):
        return False
    attended = _attention(inserter, chain, mask)
    replace(node.outputs[0], attended if rows is None else _only_rows(inserter, rows, attended, dtype))
    return True


def _scores(chain: AttentionChain, node: ir.Node) -> list[Size] | None:
    """Return the sizes of the scores, queries before keys, or ``None`` where the operands do not fit each other."""
    left, right, values, result = map(sizes_of, (chain.left, chain.right, chain.values, node.outputs[0]))
    weights, multiplied = sizes_of(node.inputs[0]), sizes_of(chain.product)
    if left is None or right is None or values is None or weights is None or result is None or multiplied is None:
        return None
    leading = list(left[:-2])
    if len(left) not in (3, 4) or any(list(sizes[:-2]) != leading for sizes in (right, values, weights, multiplied)):
        return None
    queries, keys = (right[-1], left[-2]) if chain.turned else (left[-2], right[-1])
    fits = left[-1] == right[-2] and list(weights) == [*leading, queries, keys] and values[-2] == keys
    return list(weights) if fits else None


def _attention(inserter: Inserter, chain: AttentionChain, mask: ir.Value | None) -> ir.Value:
    rank = len(sizes_of(chain.left) or ())
    turned = inserter.transpose(chain.right)
    queries, keys = (turned, chain.left) if chain.turned else (chain.left, turned)
    heads: dict[str, Any] = {"q_num_heads": 1, "kv_num_heads": 1} if rank == 3 else {}
    inputs = [queries, keys, chain.values, *([] if mask is None else [mask])]
    attended = insert(inserter.before, "Attention", inputs, {"scale": chain.scale, **heads})
    attended.shape = inserter.before.outputs[0].shape
    return attended


def _only_rows(inserter: Inserter, rows: ir.Value, attended: ir.Value, dtype: ir.DataType) -> ir.Value:
    """Return zeros for the rows of which nothing is kept."""
    known = weight(rows)
    if known is not None and known.all():
        return attended
    made = insert(inserter.before, "Where", [rows, attended, inserter.constant(np.zeros((), dtype.numpy()))])
    made.shape = attended.shape
    return made


def _heads(op: Any, q: Any, k: Any, v: Any, to_q: Any, to_k: Any, to_v: Any, joined: Any, rows: Any, zero: Any) -> Any:
    queries = op.Transpose(op.Reshape(q, to_q, _outputs=["split_q"]), perm=_HEADS_FIRST)
    keys = op.Transpose(op.Reshape(k, to_k, _outputs=["split_k"]), perm=_HEADS_FIRST)
    values = op.Transpose(op.Reshape(v, to_v, _outputs=["split_v"]), perm=_HEADS_FIRST)
    attended = op.Attention(queries, keys, values, _outputs=["attended"], **ANY)
    answer = either(op.Where(rows, attended, zero), attended)
    return op.Reshape(op.Transpose(answer, perm=_HEADS_FIRST), joined, _outputs=["result"])


def _joins(_: Any, result: ir.Value, attended: ir.Value, **values: ir.Value | None) -> bool:
    split = [(sizes_of(values[name]), sizes_of(values[f"split_{name}"])) for name in "qkv"]
    after, before, rows = sizes_of(result), sizes_of(attended), values.get("rows")
    if after is None or before is None or any(whole is None or parts is None for whole, parts in split):
        return False
    if rows is not None and not _covers_heads(sizes_of(rows), values.get("zero"), attended):
        return False
    pairs = [*split, (after, [before[place] for place in _HEADS_FIRST])]
    return all(
        whole is not None
        and parts is not None
        and [*whole] == [*parts[:2], product(parts[2:])]
        and parts[2].number is not None
        for whole, parts in pairs
    )


def _covers_heads(rows: Sequence[Size] | None, zero: ir.Value | None, attended: ir.Value) -> bool:
    """Whether rows are put to zero whatever their head and place in it."""
    return rows is not None and len(rows) == 4 and rows[1] == rows[3] == ONE and holds(zero, 0, attended)


def _join_heads(op: Any, q: Any, k: Any, v: Any, attended: ir.Value, rows: Any, zero: Any, **values: ir.Value) -> Any:
    node = attended.producer()
    assert node is not None
    heads = [(sizes_of(values[name]) or [Size(0)] * 3)[2].number for name in ("split_q", "split_k")]
    stated = {**node.attributes, "q_num_heads": heads[0], "kv_num_heads": heads[1]}
    answer = op.Attention(q, k, v, *node.inputs[3:], **stated)
    if rows is None:
        return answer
    return op.Where(op.Squeeze(rows, Inserter(node).constant(np.array([1], np.int64))), answer, zero)


fuse_attention: Pass = Rewrite(
    "fuse_attention", "scaled dot-product and multi-head attention in one node", _fuse_attention, opset=23
)
