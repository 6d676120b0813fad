"""Scaled dot-product attention, read upwards from a product of weights and values, and the heads it is split into.

Between the product of queries and keys and that of weights and values, in any order that means the same:

- the Softmax over the keys;
- products and quotients with one number, of the scores or of either operand;
- sums with masks and biases, below every choice;
- choices: a Where that puts a number so low that nothing of it is left after the Softmax;
- a Where behind the Softmax that puts zeros, or that puts them for what is not a number (PyTorch, for rows of which
  minus infinity hides every key);
- exchanges of queries and keys (Transpose of the last two axes, or a change of layout where there is one query or one
  key), as Keras computes keys times queries;
- changes of the leading axes that leave the last two alone.

Nothing inside is read elsewhere, and the scores are stretched by nothing that they meet.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import (
    Inserter,
    insert,
    insert_reshape,
    insert_with_outputs,
    is_node,
    only_reader,
    replace,
    weight,
)
from irbench.optimizer.pass_tools.rules import holds, number_beside

if TYPE_CHECKING:
    import onnx_ir as ir

LOW = -1e9
"""A masked score that leaves nothing after the Softmax beside any score that is kept: those of models are far above."""


@dataclass(frozen=True)
class Met:
    """A tensor that the scores meet on their way.

    Attributes:
        turned: Whether the last two axes of the scores are keys and queries there, not queries and keys.
        factor: What everything added there is multiplied with later.
    """

    value: ir.Value
    scores: Sequence[Size]
    turned: bool
    factor: float = 1.0


@dataclass(frozen=True)
class Choice:
    """Which scores or weights are kept."""

    met: Met
    keeps: bool
    low: float

    def is_like(self, other: Choice) -> bool:
        """Whether the same elements are kept."""
        mine, its = self.met, other.met
        alike = mine.turned == its.turned and list(mine.scores) == list(its.scores)
        return mine.value is its.value and self.keeps == other.keeps and alike


@dataclass(frozen=True)
class AttentionChain:
    """What an attention is made of.

    Attributes:
        left: First operand of the product of queries and keys: queries, or keys where the product is turned.
        right: Second operand, its last two axes exchanged: keys, or queries.
        choices: Conditions on scores, the outermost first.
        guarded: Whether weights that are not a number become zero.
    """

    left: ir.Value
    right: ir.Value
    values: ir.Value
    turned: bool
    product: ir.Value
    scale: float
    added: tuple[Met, ...] = ()
    choices: tuple[Choice, ...] = ()
    zeroed: Choice | None = None
    guarded: bool = False


@dataclass(frozen=True)
class _Way:
    """What was met between the product with the values and a place above it."""

    turned: bool = False
    inside: bool = False  # above the Softmax
    scale: float = 1.0
    added: tuple[Met, ...] = ()
    choices: tuple[Choice, ...] = ()
    zeroed: Choice | None = None
    guarded: bool = False


_Steps = Iterator[tuple["ir.Value | None", _Way]]


def read_attention(node: ir.Node) -> AttentionChain | None:
    """Return what a product of weights and values is computed from, or ``None`` if it is not an attention."""
    weights, values = node.inputs
    open_ways: list[tuple[ir.Value | None, ir.Node, _Way]] = [(weights, node, _Way())]
    while open_ways and values is not None:
        value, reader, way = open_ways.pop()
        source = value.producer() if value is not None else None
        if value is None or source is None or source.domain:
            continue
        if only_reader(value) is not reader and _guarded(reader) is not value:
            continue
        if source.op_type == "MatMul" and way.inside:
            return _chain(source, values, way)
        steps = _STEPS.get(source.op_type)
        if steps is not None and sizes_of(value) is not None:
            open_ways += [(further, source, moved) for further, moved in steps(source, way)]
    return None


def _chain(node: ir.Node, values: ir.Value, way: _Way) -> AttentionChain | None:
    left, right = node.inputs
    if left is None or right is None:
        return None
    (left, first), (right, second) = _unscaled(left), _unscaled(right)
    scale = way.scale * first * second
    met = (way.added, way.choices, way.zeroed, way.guarded)
    return AttentionChain(left, right, values, way.turned, node.outputs[0], scale, *met)


def _unscaled(operand: ir.Value) -> tuple[ir.Value, float]:
    total = 1.0
    while (node := operand.producer()) is not None and node.op_type in ("Mul", "Div") and not node.domain:
        factor = next(_factors(node), None)
        if factor is None:
            break
        operand, total = factor[0], total * factor[1]
    return operand, total


def _factors(node: ir.Node) -> Iterator[tuple[ir.Value, float]]:
    """Yield the operand of a product or quotient beside a number, and what it is multiplied with."""
    for place, operand in enumerate(node.inputs):
        other = node.inputs[1 - place]
        number = number_beside(other, operand) if operand is not None else None
        if operand is None or number is None or (node.op_type == "Div" and place == 1):
            continue
        if node.op_type == "Mul":
            yield operand, number
        else:
            yield operand, 1 / number if number else math.inf


def _transpose(node: ir.Node, way: _Way) -> _Steps:
    axes = list(range(len(node.outputs[0].shape or ())))
    if list(node.attributes.get_ints("perm", axes[::-1])) == [*axes[:-2], *axes[:-3:-1]]:
        yield node.inputs[0], dataclasses.replace(way, turned=not way.turned)


def _softmax(node: ir.Node, way: _Way) -> _Steps:
    rank = len(node.outputs[0].shape or ())
    over = node.attributes.get_int("axis", -1) % rank if rank else None
    if not way.inside and rank > 1 and over == rank - (2 if way.turned else 1):
        yield node.inputs[0], dataclasses.replace(way, inside=True)


def _guarded(node: ir.Node) -> ir.Value | None:
    """Return what a Where puts zeros in for what is not a number, if nothing else reads it."""
    if node.op_type != "Where" or node.domain or not is_node(node.inputs[0], "IsNaN"):
        return None
    condition, zero, weights = node.inputs
    test = condition.producer() if condition is not None else None
    if test is None or condition is None or weights is None or test.inputs[0] is not weights:
        return None
    alone = only_reader(condition) is node and weights.graph is node.graph and not weights.is_graph_output()
    readers = sorted(use.node.op_type for use in weights.uses())
    return weights if alone and readers == ["IsNaN", "Where"] and number_beside(zero, weights) == 0 else None


def _where(node: ir.Node, way: _Way) -> _Steps:
    condition, *operands = node.inputs
    weights = _guarded(node)
    if weights is not None:
        if not way.inside and way.zeroed is None:
            yield weights, dataclasses.replace(way, guarded=True)
        return
    for place, scores in enumerate(operands):
        put = number_beside(operands[1 - place], scores) if scores is not None else None
        if put is None or condition is None or not _keeps_size(scores, node):
            continue
        choice = Choice(_met(condition, node, way), place == 0, put)
        if not way.inside and put == 0 and way.zeroed is None and not way.guarded:
            yield scores, dataclasses.replace(way, zeroed=choice)
        if way.inside and put <= LOW and not way.added and way.scale == 1:
            yield scores, dataclasses.replace(way, choices=(*way.choices, choice))


def _sum(node: ir.Node, way: _Way) -> _Steps:
    for place, scores in enumerate(node.inputs):
        other = node.inputs[1 - place]
        if other is not None and way.inside and _keeps_size(scores, node) and (node.op_type == "Add" or place == 0):
            sign = -1 if node.op_type == "Sub" else 1
            met = dataclasses.replace(_met(other, node, way), factor=sign * way.scale)
            yield scores, dataclasses.replace(way, added=(*way.added, met))


def _scaled(node: ir.Node, way: _Way) -> _Steps:
    for scores, number in _factors(node):
        if way.inside and _keeps_size(scores, node):
            yield scores, dataclasses.replace(way, scale=way.scale * number)


def _layout(node: ir.Node, way: _Way) -> _Steps:
    before, after = sizes_of(node.inputs[0]), sizes_of(node.outputs[0])
    if before is None or after is None:
        return
    if list(before[-2:]) == list(after[-2:]):
        yield node.inputs[0], way
    elif list(before[-2:]) == list(after[-2:])[::-1] and ONE in before[-2:]:
        yield node.inputs[0], dataclasses.replace(way, turned=not way.turned)


def _met(value: ir.Value, node: ir.Node, way: _Way) -> Met:
    return Met(value, sizes_of(node.outputs[0]) or (), way.turned)


def _keeps_size(scores: ir.Value | None, node: ir.Node) -> bool:
    return scores is not None and sizes_of(scores) == sizes_of(node.outputs[0])


_STEPS: dict[str, Callable[[ir.Node, _Way], _Steps]] = {
    "Transpose": _transpose,
    "Softmax": _softmax,
    "Where": _where,
    "Add": _sum,
    "Sub": _sum,
    "Mul": _scaled,
    "Div": _scaled,
    "Reshape": _layout,
    "Squeeze": _layout,
    "Unsqueeze": _layout,
}


_HEADS_FIRST = [0, 2, 1, 3]
_QUERIES, _KEYS, _VALUES = 0, 1, 2
_CACHES = 2
"""Outputs behind the answer: what an Attention makes of its cache of keys and of values."""


@dataclass(frozen=True)
class _Joined:
    """What follows an attention whose heads are joined.

    Attributes:
        choice: The Where that puts rows to zero before, if there is one.
    """

    result: ir.Value
    sizes: list[Size]
    choice: ir.Node | None


def join_heads(node: ir.Node) -> bool:
    """Rewrite an Attention of (batch, heads, length, width) that stands between the splitting and joining of heads.

    A cache of keys and values stays split.
    """
    sources = [_before_split(value) for value in node.inputs[:3]]
    known_sources = [source for source in sources if source is not None]
    joined = _after(node)
    if len(known_sources) < 3 or joined is None or len(node.outputs) not in (1, 1 + _CACHES):
        return False
    heads = [count for _, count in known_sources]
    if heads[_KEYS] != heads[_VALUES] or heads[_QUERIES] % heads[_KEYS]:
        return False
    reader = joined.result.producer()
    assert reader is not None
    stated = {**node.attributes, "q_num_heads": heads[_QUERIES], "kv_num_heads": heads[_KEYS]}
    inputs = [*(value for value, _ in known_sources), *node.inputs[3:]]
    answer, *caches = insert_with_outputs(node, "Attention", inputs, stated, len(node.outputs))
    set_sizes(answer, joined.sizes)
    for old, new in zip(node.outputs[1:], caches, strict=True):
        new.type, new.shape = old.type, old.shape
        replace(old, new)
    made = answer if joined.choice is None else _zeroed(answer, joined.choice, reader)
    rows = list(sizes_of(joined.result) or ())
    if rows != joined.sizes:
        made = insert_reshape(reader, made, rows) or made
    replace(joined.result, made)
    return True


def _before_split(value: ir.Value | None) -> tuple[ir.Value, int] | None:
    if (alone := _before_heads(value)) is not None and len(sizes_of(alone) or ()) == 3:
        return alone, 1
    axes, split = [0, 1, 2, 3], value
    while split is not None and is_node(split, "Transpose"):
        node = split.producer()
        perm = list(node.attributes.get_ints("perm", [3, 2, 1, 0])) if node is not None else []
        if node is None or len(perm) != len(axes):
            return None
        axes, split = [perm[axis] for axis in axes], node.inputs[0]
    reshape = split.producer() if split is not None and is_node(split, "Reshape") else None
    source = reshape.inputs[0] if reshape is not None else None
    parts, whole = sizes_of(split), sizes_of(source)
    if axes != _HEADS_FIRST or source is None or parts is None or whole is None or len(parts) != 4:
        return None
    heads = parts[2].number
    return (source, heads) if heads and list(whole) == [*parts[:2], product(parts[2:])] else None


def _after(node: ir.Node) -> _Joined | None:
    attended, choice = node.outputs[0], None
    before, reader = sizes_of(attended), only_reader(attended)
    if reader is not None and is_node(reader.outputs[0], "Where"):
        choice = reader
        if reader.inputs[1] is not attended or not _covers_heads(reader, attended):
            return None
        reader = only_reader(reader.outputs[0])
    if reader is not None and before is not None and _drops_heads(reader, before):
        return _Joined(reader.outputs[0], [before[0], *before[2:]], choice)
    turned = reader.outputs[0] if reader is not None and is_node(reader.outputs[0], "Transpose") else None
    perm = list(reader.attributes.get_ints("perm", [3, 2, 1, 0])) if reader is not None and turned is not None else []
    last = only_reader(turned) if turned is not None and perm == _HEADS_FIRST else None
    if last is None or not is_node(last.outputs[0], "Reshape") or last.inputs[0] is not turned or before is None:
        return None
    parts, after = [before[place] for place in _HEADS_FIRST], sizes_of(last.outputs[0])
    whole = [*parts[:2], product(parts[2:])]
    rows = [product(parts[:2]), whole[2]]  # of a product that takes matrices only
    is_joined = after is not None and (list(after) == whole or (list(after) == rows and rows[1].number is not None))
    return _Joined(last.outputs[0], whole, choice) if is_joined else None


def _drops_heads(reader: ir.Node, before: Sequence[Size]) -> bool:
    after = sizes_of(reader.outputs[0])
    dropped = is_node(reader.outputs[0], "Reshape", "Squeeze") and len(before) == 4 and before[1] == ONE
    return dropped and after is not None and list(after) == [before[0], *before[2:]]


def _covers_heads(choice: ir.Node, attended: ir.Value) -> bool:
    """Whether rows are put to zero whatever their head and place in it, by a number that joined heads may meet too."""
    rows, _, zero = choice.inputs
    sizes, axes = sizes_of(rows), sizes_of(zero)
    if sizes is None or axes is None or not holds(zero, 0, attended):
        return False
    return len(sizes) == 4 and sizes[1] == sizes[3] == ONE and len(axes) < len(sizes)


def _zeroed(answer: ir.Value, choice: ir.Node, before: ir.Node) -> ir.Value:
    rows, _, zero = choice.inputs
    assert rows is not None
    selected = insert(before, "Where", [_of_every_head(rows, before), answer, zero])
    selected.shape = answer.shape
    return selected


def _of_every_head(rows: ir.Value, before: ir.Node) -> ir.Value:
    """Return which rows keep any key, without the axis of heads; where that axis was added to a mask, from before."""
    sizes, inserter = list(sizes_of(rows) or ()), Inserter(before)
    mask = _before_heads(_reduced(rows))
    if mask is not None:
        return inserter.any_of_last(mask)
    squeezed = insert(before, "Squeeze", [rows, inserter.constant(np.array([1], np.int64))])
    squeezed.type = rows.type
    set_sizes(squeezed, [sizes[0], *sizes[2:]])
    return squeezed


def _reduced(rows: ir.Value) -> ir.Value | None:
    """Return that of which rows hold whether it is true anywhere along its last axis."""
    node = rows.producer() if is_node(rows, "ReduceMax") else None
    axes = weight(node.inputs[1]) if node is not None and len(node.inputs) > 1 else None
    if node is None or axes is None or axes.tolist() != [-1] or node.attributes.get_int("keepdims", 1) != 1:
        return None
    return node.inputs[0]


def _before_heads(kept: ir.Value | None) -> ir.Value | None:
    node = kept.producer() if kept is not None and is_node(kept, "Unsqueeze", "Reshape") else None
    before, after = sizes_of(node.inputs[0]) if node is not None else None, sizes_of(kept)
    if node is None or before is None or after is None:
        return None
    return node.inputs[0] if list(after) == [*before[:1], ONE, *before[1:]] and len(before) > 1 else None
