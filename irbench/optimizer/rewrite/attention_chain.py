"""Read from a product of weights and values, upwards, what scaled dot-product attention is made of.

Between the product of queries and keys and that of weights and values, in any order that means the same:

- the Softmax over the keys;
- products and quotients with one number, of the scores or of either operand;
- sums with masks and biases, below every choice;
- choices: a Where that puts a number so low that nothing of it is left after the Softmax;
- a Where behind the Softmax that puts zeros, or that puts them for what is not a number (PyTorch, for rows of which
  minus infinity hides every key);
- exchanges of queries and keys (Transpose of the last two axes), as Keras computes keys times queries;
- changes of the leading axes that leave the last two alone.

Nothing inside is read elsewhere, and the scores are stretched by nothing that they meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from irbench.onnx.sizes import Size, sizes_of
from irbench.optimizer.rewrite.edit import is_node, only_reader
from irbench.optimizer.rewrite.rules import number_beside

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
        turned: Whether keys are multiplied with queries.
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
    """Return what a product of weights and values is computed from, or ``None`` if it is no attention.

    Args:
        node: A MatMul; types and shapes were inferred.
    """
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
    """Return what an operand is without the numbers that it is multiplied with, and their product."""
    total = 1.0
    while (node := operand.producer()) is not None and node.op_type in ("Mul", "Div") and not node.domain:
        found = next(_factors(node), None)
        if found is None:
            break
        operand, total = found[0], total * found[1]
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
        yield node.inputs[0], replace(way, turned=not way.turned)


def _softmax(node: ir.Node, way: _Way) -> _Steps:
    rank = len(node.outputs[0].shape or ())
    over = node.attributes.get_int("axis", -1) % rank if rank else None
    if not way.inside and rank > 1 and over == rank - (2 if way.turned else 1):
        yield node.inputs[0], replace(way, inside=True)


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
            yield weights, replace(way, guarded=True)
        return
    for place, scores in enumerate(operands):
        put = number_beside(operands[1 - place], scores) if scores is not None else None
        if put is None or condition is None or not _keeps_size(scores, node):
            continue
        choice = Choice(_met(condition, node, way), place == 0, put)
        if not way.inside and put == 0 and way.zeroed is None and not way.guarded:
            yield scores, replace(way, zeroed=choice)
        if way.inside and put <= LOW and not way.added and way.scale == 1:
            yield scores, replace(way, choices=(*way.choices, choice))


def _sum(node: ir.Node, way: _Way) -> _Steps:
    for place, scores in enumerate(node.inputs):
        other = node.inputs[1 - place]
        if other is not None and way.inside and _keeps_size(scores, node) and (node.op_type == "Add" or place == 0):
            sign = -1 if node.op_type == "Sub" else 1
            yield scores, replace(way, added=(*way.added, replace(_met(other, node, way), factor=sign * way.scale)))


def _scaled(node: ir.Node, way: _Way) -> _Steps:
    for scores, number in _factors(node):
        if way.inside and _keeps_size(scores, node):
            yield scores, replace(way, scale=way.scale * number)


def _layout(node: ir.Node, way: _Way) -> _Steps:
    before, after = sizes_of(node.inputs[0]), sizes_of(node.outputs[0])
    if before is not None and after is not None and len(before) > 1 and list(before[-2:]) == list(after[-2:]):
        yield node.inputs[0], way


def _met(value: ir.Value, node: ir.Node, way: _Way) -> Met:
    return Met(value, sizes_of(node.outputs[0]) or (), way.turned)


def _keeps_size(scores: ir.Value | None, node: ir.Node) -> bool:
    """Whether the result of an operation is as large as the scores that go into it."""
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
