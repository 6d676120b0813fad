"""Fuse scaled dot-product attention (Vaswani et al., 2017, section 3.2) into ONNX's Attention.

1. MatMul(Softmax(MatMul(q, transposed k) * scale + mask), v)                  -> Attention(q, k, v, mask)
2. Attention of q, k and v that are split into heads, heads joined after it    -> Attention(q, k, v) that does so itself
3. Attention(q, k + bias, v), the bias a constant, the same for every key      -> Attention(q, k, v)

:mod:`irbench.optimizer.pass_tools.attention_chain` says what rule 1 takes for scale and mask, and what may stand in
between; :mod:`irbench.optimizer.pass_tools.attention_mask` says which mask is added. The scale is positive, as ONNX
asks. Queries, keys and values have axes (batch, heads, length, width), or (batch, length, width) for one head. The
product of queries and keys may have batch and heads in one axis where values have two, as DeBERTa's has.

A row of which nothing is kept weighs all keys alike, as it did in the model; where the model put zeros for the weights
of what is not kept, such a row becomes zero. Where the model put minus infinity, its answer for such a row was not a
number: it becomes the mean of all values, or zero where the model then put zeros for what is not a number. Scores that
are not a number for another reason stay so, as those of inputs that are not.

For rule 2 the axes are (batch, length, heads * width) before they are split and after they are joined. Others may read
what is split, and rows may be put to zero before heads are joined, whatever the head.

:mod:`irbench.optimizer.pass_tools.attention_mask` says beside which masks rule 3 holds.

All rules ask for known sizes, dynamic ones by name, in branches and bodies of loops too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import ONE, Size, sizes_of
from irbench.optimizer.pass_tools.attention_chain import AttentionChain, join_heads, read_attention
from irbench.optimizer.pass_tools.attention_mask import (
    build_mask,
    build_row_condition,
    drop_key_bias,
    has_zero_rows,
    is_maskable,
)
from irbench.optimizer.pass_tools.edit import Inserter, clean, insert, is_node, replace, weight
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.passes.remove_redundant import merge_layouts
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _fuse_attention(model: ir.Model) -> bool:
    infer(model)
    products = [node for node in model.graph.all_nodes() if is_node(node.outputs[0], "MatMul")]
    fused = sum([_fuse(node) for node in products]) > 0
    clean(model)
    infer(model)
    merge_layouts(model)
    clean(model)
    attentions = [node for node in model.graph.all_nodes() if is_node(node.outputs[0], "Attention")]
    joined = sum([join_heads(node) for node in attentions]) > 0
    clean(model)
    attentions = [node for node in model.graph.all_nodes() if is_node(node.outputs[0], "Attention")]
    unbiased = sum([drop_key_bias(node) for node in attentions]) > 0
    clean(model)
    return unbiased or joined or fused


def _fuse(node: ir.Node) -> bool:
    """Rule 1."""
    chain = read_attention(node)
    scores = None if chain is None else _scores(chain, node)
    if chain is None or scores is None or not 0 < chain.scale < np.inf or not is_maskable(chain, scores):
        return False
    inserter, dtype = Inserter(node), chain.product.dtype
    if dtype is None or not dtype.is_floating_point():
        return False
    is_masked, is_zeroed = bool(chain.added or chain.choices), has_zero_rows(chain)
    mask = build_mask(inserter, chain, scores, dtype) if is_masked else None
    rows = build_row_condition(inserter, chain, scores, dtype) if is_zeroed else None
    if (is_masked and mask is None) or (is_zeroed and rows is None):
        return False
    attended = _attention(inserter, chain, mask)
    if attended is None:
        return False
    replace(node.outputs[0], attended if rows is None else _only_rows(inserter, rows, attended, dtype))
    return True


def _scores(chain: AttentionChain, node: ir.Node) -> list[Size] | None:
    """Return the sizes (batch, heads, queries, keys) of the scores, or ``None`` where the operands do not fit."""
    left, right, values, result = map(sizes_of, (chain.left, chain.right, chain.values, node.outputs[0]))
    weights, multiplied = sizes_of(node.inputs[0]), sizes_of(chain.product)
    if left is None or right is None or values is None or weights is None or result is None or multiplied is None:
        return None
    leading, of_product = list(values[:-2]), list(left[:-2])
    if len(values) not in (3, 4) or any(list(sizes[:-2]) != of_product for sizes in (right, multiplied)):
        return None
    queries, keys = (right[-1], left[-2]) if chain.turned else (left[-2], right[-1])
    fits = left[-1] == right[-2] and list(weights) == [*leading, queries, keys] and values[-2] == keys
    return [*leading, *[ONE] * (2 - len(leading)), queries, keys] if fits else None


def _attention(inserter: Inserter, chain: AttentionChain, mask: ir.Value | None) -> ir.Value | None:
    """Return the operator, or ``None`` where queries and keys cannot get the leading axes of values."""
    leading = list(sizes_of(chain.values) or ())[:-2]
    turned = inserter.transpose(chain.right)
    operands = (turned, chain.left) if chain.turned else (chain.left, turned)
    queries, keys = (inserter.reshape(operand, [*leading, *(sizes_of(operand) or ())[-2:]]) for operand in operands)
    if queries is None or keys is None:
        return None
    heads: dict[str, Any] = {"q_num_heads": 1, "kv_num_heads": 1} if len(leading) == 1 else {}
    inputs = [queries, keys, chain.values, *([] if mask is None else [mask])]
    attended = insert(inserter.before, "Attention", inputs, {"scale": chain.scale, **heads})
    attended.shape = inserter.before.outputs[0].shape
    return attended


def _only_rows(inserter: Inserter, rows: ir.Value, attended: ir.Value, dtype: ir.DataType) -> ir.Value:
    known = weight(rows)
    if known is not None and known.all():
        return attended
    sizes = list(sizes_of(rows) or ())
    if len(sizes) > len(attended.shape or ()):
        whole = inserter.reshape(rows, [sizes[0], *sizes[2:]])
        assert whole is not None  # one head, an axis of size one
        rows = whole
    selected = insert(inserter.before, "Where", [rows, attended, inserter.constant(np.zeros((), dtype.numpy()))])
    selected.shape = attended.shape
    return selected


fuse_attention: Pass = Rewrite(
    "fuse_attention", "scaled dot-product and multi-head attention in one node", _fuse_attention, opset=23
)
