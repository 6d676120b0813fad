"""Give every head of queries its own product with keys and with values, where those that share them are one product.

1. Reshape(MatMul(q, k)), the rows of q those of several     -> Reshape(MatMul(q, k repeated for each head)) and
   heads of queries, and MatMul(Reshape(weights), v)            Reshape(MatMul(weights, v repeated for each head))

Between both products are a Softmax and what scales and masks scores; the sizes there are (batch, heads of keys, groups,
queries, keys), or without the second. Keys and values are there for every sample and head of keys. Written so,
``fuse_attention`` finds the attention, and ``fuse_grouped_queries`` drops the repetition. Gemma computes its attention
like this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import add_constant, clean, insert, insert_reshape, is_node, only_reader, replace
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_ir as ir

_ON_SCORES = ("Add", "Div", "Mul", "Softmax", "Where")


@dataclass(frozen=True)
class _Grouped:
    """Two products of grouped heads.

    Attributes:
        weights: What the second product multiplies, as large as the scores.
        second: The second product.
    """

    scores: ir.Node
    split: ir.Node
    weights: ir.Value
    second: ir.Node
    batch: Size
    heads: Size
    groups: Size
    queries: Size


def _split_grouped_heads(model: ir.Model) -> bool:
    infer(model)
    products = [node for node in model.graph if is_node(node.outputs[0], "MatMul")]
    matches = [grouped for node in products if (grouped := _read(node)) is not None]
    changed = sum([_split(grouped) for grouped in matches]) > 0
    clean(model)  # what was begun where a constant could not say a shape
    return changed


def _read(second: ir.Node) -> _Grouped | None:
    joined = second.inputs[0]
    reshape = joined.producer() if joined is not None and is_node(joined, "Reshape") else None
    weights = reshape.inputs[0] if reshape is not None else None
    sizes, rows = sizes_of(weights), sizes_of(joined)
    if joined is None or weights is None or sizes is None or rows is None or only_reader(joined) is not second:
        return None
    split = _above_softmax(weights, reshape)
    product_node = split.inputs[0].producer() if split is not None and split.inputs[0] is not None else None
    if split is None or product_node is None or not is_node(split.inputs[0], "MatMul") or len(sizes) not in (4, 5):
        return None
    if only_reader(product_node.outputs[0]) is not split or not _is_alike(sizes_of(product_node.outputs[0]), rows):
        return None
    *leading, groups, queries, keys = sizes
    batch, heads = (*leading, ONE)[:2]
    merged = product((groups, queries)) == rows[-2] and keys == rows[-1] and product(leading) == product(rows[:-2])
    shared = heads.number is not None and groups.number is not None and groups.number > 1
    if not merged or not shared:
        return None
    return _Grouped(product_node, split, weights, second, batch, heads, groups, queries)


def _is_alike(sizes: Sequence[Size] | None, others: Sequence[Size]) -> bool:
    return sizes is not None and list(sizes[-2:]) == list(others[-2:]) and product(sizes) == product(others)


def _above_softmax(value: ir.Value | None, reader: ir.Node | None) -> ir.Node | None:
    """Return the Reshape whose result becomes weights by a Softmax and by what scales and masks."""
    sizes, softmax = sizes_of(value), False
    while value is not None and reader is not None and only_reader(value) is reader and sizes_of(value) == sizes:
        node = value.producer()
        if node is not None and is_node(value, "Reshape") and softmax:
            return node
        if node is None or not is_node(value, *_ON_SCORES):
            return None
        softmax = softmax or node.op_type == "Softmax"
        alike = [tensor for tensor in node.inputs if sizes_of(tensor) == sizes and _is_read_by(tensor, node)]
        value, reader = (alike[0] if len(alike) == 1 else None), node
    return None


def _is_read_by(value: ir.Value | None, node: ir.Node) -> bool:
    return value is not None and value.producer() is not None and only_reader(value) is node


def _split(match: _Grouped) -> bool:
    """Rule 1."""
    queries, keys = match.scores.inputs
    values = match.second.inputs[1]
    every = product((match.heads, match.groups))
    lengths, leading = [sizes_of(tensor) for tensor in (queries, keys, values)], product((match.batch, match.heads))
    joined = sizes_of(match.second.outputs[0])
    if joined is None or any(sizes is None or product(sizes[:-2]) != leading for sizes in lengths):
        return False  # a product stretches operands of fewer heads or samples, a Reshape does not
    widths = [(sizes or [ONE])[-1] for sizes in lengths]
    before, after = match.scores, match.second
    rows = insert_reshape(before, queries, [match.batch, every, match.queries, widths[0]])
    columns = _repeated(before, keys, match)
    scores = _product(before, [rows, columns], [match.batch, every, match.queries, widths[1]])
    split = insert_reshape(before, scores, sizes_of(match.weights) or ())
    weights = insert_reshape(after, match.weights, [match.batch, every, match.queries, widths[1]])
    mixed = _product(after, [weights, _repeated(after, values, match)], [match.batch, every, match.queries, widths[2]])
    result = insert_reshape(after, mixed, joined)
    if split is None or result is None:
        return False
    replace(match.split.outputs[0], split)
    replace(match.second.outputs[0], result)
    return True


def _repeated(before: ir.Node, value: ir.Value | None, match: _Grouped) -> ir.Value | None:
    """Return keys or values with the axes (batch, all heads, ...)."""
    sizes, graph = sizes_of(value), before.graph
    assert graph is not None
    last = list(sizes or ())[-2:]
    apart = insert_reshape(before, value, [match.batch, match.heads, ONE, *last])
    if apart is None:
        return None
    target = np.array([1, 1, match.groups.factor, 1, 1], np.int64)
    expanded = insert(before, "Expand", [apart, add_constant(graph, target, before.outputs[0])])
    set_sizes(expanded, [match.batch, match.heads, match.groups, *last])
    return insert_reshape(before, expanded, [match.batch, product((match.heads, match.groups)), *last])


def _product(before: ir.Node, operands: Sequence[ir.Value | None], sizes: Sequence[Size]) -> ir.Value | None:
    if None in operands:
        return None
    new_product = insert(before, "MatMul", operands)
    set_sizes(new_product, sizes)
    return new_product


split_grouped_heads: Pass = Rewrite(
    "split_grouped_heads", "a product for each head of queries, where heads share keys and values", _split_grouped_heads
)
