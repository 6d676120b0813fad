"""Let operations on rows work on the grouping of rows that needs the fewest reshapes.

1. Operations on rows between reshapes that only regroup rows     -> the same on the other grouping, without them

Operations on rows treat every row of a tensor alike. A row is what the last axis holds. How rows are grouped by the
axes before it does not matter to any of them, so a region of them can work on any grouping, such as (batch, height,
width) instead of (batch, tokens). They change to the other grouping only together with all that they exchange rows
with, or with as much of it as saves most, and only where fewer reshapes are left. Convolutions and attention ask for
groupings of their own, and what stands between them can be in either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import Size, product, sizes_of
from irbench.optimizer.pass_tools.edit import (
    clean,
    insert,
    insert_reshape,
    is_node,
    replace,
    reshape_operation,
    scalar,
    weight,
)
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

_REGROUPING = ("Reshape", "Unsqueeze", "Squeeze", "Flatten")
"""Operations that may change how rows are grouped."""

_ACTIVATIONS = (
    *("Abs", "Celu", "Clip", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish"),
    *("Neg", "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh"),
)


@dataclass(frozen=True)
class Grouping:
    """What the axes before the last one become."""

    old: tuple[Size, ...]
    new: tuple[Size, ...]

    def is_old(self, value: ir.Value | None) -> bool:
        """Whether rows are grouped as they are now."""
        sizes = sizes_of(value)
        return sizes is not None and len(sizes) > 0 and tuple(sizes[:-1]) == self.old

    def after(self, value: ir.Value) -> list[Size]:
        """Return the sizes that a value has then."""
        return [*self.new, *(sizes_of(value) or ())[-1:]]


@dataclass(frozen=True)
class Region:
    """Operations on rows that are to work on another grouping."""

    nodes: tuple[ir.Node, ...]
    grouping: Grouping

    @cached_property
    def _inside(self) -> frozenset[ir.Node]:
        return frozenset(self.nodes)

    @property
    def results(self) -> list[ir.Value]:
        """What the operations compute."""
        return [node.outputs[0] for node in self.nodes]

    @property
    def sources(self) -> list[ir.Value]:
        """The rows that come from elsewhere."""
        own = set(self.results)
        operands = (value for node in self.nodes for value in _row_operands(node) or ())
        return list(dict.fromkeys(value for value in operands if value not in own))

    def readers(self, value: ir.Value) -> list[ir.Node]:
        """Return who reads a value outside, a node for each use."""
        return [use.node for use in value.uses() if use.node not in self._inside]

    def reshaping(self, value: ir.Value) -> list[ir.Node]:
        """Return the readers outside that group a value's rows otherwise, those within branches and bodies left out."""
        readers = (node for node in self.readers(value) if node.graph is value.graph)
        return [node for node in readers if _is_regrouped(node.outputs[0])]

    def without(self, node: ir.Node) -> Region:
        """Return the region without one operation."""
        return Region(tuple(other for other in self.nodes if other is not node), self.grouping)

    def cost(self) -> float:
        """Return how many reshapes there are more then, fewer if negative; infinite where a constant cannot say one."""
        return sum(map(self._cost_of, (*self.sources, *self.results)))

    def cost_around(self, node: ir.Node) -> float:
        """Return the part of the cost that depends on whether a node is in the region."""
        return sum(map(self._cost_of, dict.fromkeys((*(_row_operands(node) or ()), node.outputs[0]))))

    def _cost_of(self, value: ir.Value) -> float:
        if value.producer() in self._inside:
            return self._leaving(value)
        readers = (use.node for use in value.uses() if use.node in self._inside)
        return self._entering(value) if any(value in (_row_operands(node) or ()) for node in readers) else 0

    def _entering(self, value: ir.Value) -> float:
        target_sizes, alone = self.grouping.after(value), not self.readers(value) and not value.is_graph_output()
        node = value.producer()
        before = node.inputs[0] if node is not None and _is_regrouped(value) else None
        if before is None:
            return 1 if _can_reshape(value, target_sizes) else math.inf
        if sizes_of(before) == target_sizes:
            return -1 if alone else 0
        return int(not alone) if _can_reshape(before, target_sizes) else math.inf

    def _leaving(self, value: ir.Value) -> float:
        target_sizes, reshaped = self.grouping.after(value), self.reshaping(value)
        alike = [node for node in reshaped if sizes_of(node.outputs[0]) == target_sizes]
        if any(not _can_be(target_sizes, node.outputs[0]) for node in reshaped):
            return math.inf
        if sum(node.outputs[0].is_graph_output() for node in alike) > 1:
            return math.inf  # one value would be two outputs
        if len(reshaped) == len(self.readers(value)) and not value.is_graph_output():
            return -len(alike)
        return 1 - len(alike) if _can_be(target_sizes, value) else math.inf


def _is_regrouped(value: ir.Value | None) -> bool:
    node = value.producer() if value is not None and is_node(value, *_REGROUPING) else None
    return node is not None and sizes_of(node.inputs[0]) is not None and sizes_of(value) is not None


def _can_be(sizes: Sequence[Size], value: ir.Value) -> bool:
    target_sizes = sizes_of(value)
    return target_sizes is not None and (
        list(sizes) == list(target_sizes) or reshape_operation(sizes, target_sizes) is not None
    )


def _can_reshape(value: ir.Value, target_sizes: Sequence[Size]) -> bool:
    sizes = sizes_of(value)
    return sizes is not None and reshape_operation(sizes, target_sizes) is not None


def _row_operands(node: ir.Node) -> list[ir.Value] | None:
    """Return the operands whose rows a node treats alike, or ``None`` where it does not, or sizes are not known."""
    read = _READ.get(node.op_type) if node.domain == "" and len(node.outputs) == 1 else None
    operands = None if read is None else read(node)
    result = sizes_of(node.outputs[0])
    if not operands or not result or len(result) < 2:
        return None
    sizes = [sizes_of(operand) for operand in operands]
    return (
        operands
        if all(operand_sizes is not None and operand_sizes[:-1] == result[:-1] for operand_sizes in sizes)
        else None
    )


def _of_product(node: ir.Node) -> list[ir.Value]:
    rows, matrix = node.inputs[0], weight(node.inputs[1])
    is_weighted = matrix is not None and matrix.ndim == 2
    return [rows] if rows is not None and weight(rows) is None and is_weighted else []


def _of_normalization(node: ir.Node) -> list[ir.Value]:
    rows, *constants = node.inputs
    rank = len(sizes_of(rows) or ())
    is_last = node.attributes.get_int("axis", -1) in (-1, rank - 1)
    alike = all(value is not None and len(sizes_of(value) or (0, 0)) <= 1 for value in constants)
    return [rows] if rows is not None and is_last and alike else []


def _of_activation(node: ir.Node) -> list[ir.Value]:
    rows, *others = node.inputs
    return (
        [rows] if rows is not None and all(scalar(other) is not None for other in others if other is not None) else []
    )


def _of_arithmetic(node: ir.Node) -> list[ir.Value]:
    """Return operands as large as the result; a constant beside one has an axis at most."""
    whole = sizes_of(node.outputs[0])
    rows = [value for value in node.inputs if value is not None and sizes_of(value) == whole]
    others = [weight(value) for value in node.inputs if value not in rows]
    return rows if all(other is not None and other.ndim <= 1 for other in others) else []


_READ: dict[str, Callable[[ir.Node], list[ir.Value]]] = {
    "MatMul": _of_product,
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _of_normalization),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _of_arithmetic),
    **dict.fromkeys(_ACTIVATIONS, _of_activation),
}


def neighbours(node: ir.Node) -> Iterator[ir.Node]:
    """Yield what computes the rows of a node, and what reads its result, in the same graph."""
    for value in _row_operands(node) or ():
        source = value.producer()
        if source is not None and source.graph is node.graph:
            yield source
    yield from (use.node for use in node.outputs[0].uses() if use.node.graph is node.graph)


def _settle_reshapes(model: ir.Model) -> bool:
    infer(model)
    changed = False
    while (region := _best(model)) is not None:
        _regroup(region)
        clean(model)
        changed = True
    return changed


def _best(model: ir.Model) -> Region | None:
    """Return the first region that needs fewer reshapes when it is grouped otherwise."""
    places = {node: place for place, node in enumerate(model.graph)}
    seen: set[tuple[ir.Node, Grouping]] = set()
    for start, grouping in _starts(model):
        if (start, grouping) in seen:
            continue
        region = _grown(start, grouping, places)
        seen |= {(node, grouping) for node in region.nodes}
        smaller = _trimmed(region)
        if smaller.cost() < 0:
            return smaller
    return None


def _starts(model: ir.Model) -> Iterator[tuple[ir.Node, Grouping]]:
    """Yield what stands before or behind a change of grouping, and the grouping on its other side."""
    for node in model.graph:
        source, result = node.inputs[0] if node.inputs else None, node.outputs[0]
        before, after = sizes_of(source), sizes_of(result)
        if source is None or not _is_regrouped(result) or not before or not after or before[-1] != after[-1]:
            continue
        if product(before[:-1]) != product(after[:-1]) or before == after:
            continue
        forth = Grouping(tuple(after[:-1]), tuple(before[:-1]))
        yield from ((use.node, forth) for use in result.uses() if _works_on(use.node, forth, node))
        back, producer = Grouping(forth.new, forth.old), source.producer()
        if producer is not None and _works_on(producer, back, node):
            yield producer, back


def _works_on(node: ir.Node, grouping: Grouping, beside: ir.Node) -> bool:
    return node.graph is beside.graph and _row_operands(node) is not None and grouping.is_old(node.outputs[0])


def _grown(start: ir.Node, grouping: Grouping, places: dict[ir.Node, int]) -> Region:
    nodes, unseen = {start}, [start]
    while unseen:
        for node in neighbours(unseen.pop()):
            if node in places and node not in nodes and _works_on(node, grouping, start):
                nodes.add(node)
                unseen.append(node)
    return Region(tuple(sorted(nodes, key=places.__getitem__)), grouping)


def _trimmed(region: Region) -> Region:
    """Leave out operations, from the last one on and from the first one on, that no reshape is saved by."""
    for order in (region.nodes[::-1], region.nodes):
        for node in order:
            smaller = region.without(node)
            if smaller.cost_around(node) <= region.cost_around(node):
                region = smaller
    return region


def _regroup(region: Region) -> None:
    """Rule 1."""
    values: dict[ir.Value, ir.Value] = {}
    for value in region.sources:
        values[value] = _regrouped(value, region)
    for node in region.nodes:
        attributes: dict[str, Any] = dict(node.attributes)
        rows = _row_operands(node) or ()
        operands = [values[value] if value is not None and value in rows else value for value in node.inputs]
        if "axis" in attributes:
            attributes["axis"] = -1
        result = insert(node, node.op_type, operands, attributes)
        result.type = node.outputs[0].type
        set_sizes(result, region.grouping.after(node.outputs[0]))
        values[node.outputs[0]] = result
    for value in region.results:
        _hand_out(value, values[value], region)


def _regrouped(value: ir.Value, region: Region) -> ir.Value:
    target_sizes, node = region.grouping.after(value), value.producer()
    source = node.inputs[0] if node is not None and _is_regrouped(value) else value
    if source is None:
        return value
    if sizes_of(source) == target_sizes:
        return source
    first = next(node for node in region.nodes if value in node.inputs)
    reshaped = insert_reshape(first, source, target_sizes)
    assert reshaped is not None  # otherwise the region has no cost
    return reshaped


def _hand_out(value: ir.Value, regrouped: ir.Value, region: Region) -> None:
    """Let readers outside read a result as it is grouped now, or as they ask for it."""
    reshaping = region.reshaping(value)
    for node in reshaping:
        result = node.outputs[0]
        target_sizes = sizes_of(result) or ()
        reshaped = regrouped if sizes_of(regrouped) == target_sizes else insert_reshape(node, regrouped, target_sizes)
        assert reshaped is not None
        replace(result, reshaped)
    producer = value.producer()
    rest = len(region.readers(value)) > len(reshaping)
    if producer is not None and (rest or value.is_graph_output()):
        again = insert_reshape(producer, regrouped, sizes_of(value) or ())
        assert again is not None
        replace(value, again)


settle_reshapes: Pass = Rewrite(
    "settle_reshapes", "operations on rows grouped so that the fewest reshapes are left", _settle_reshapes
)
"""Behind all fusions: their patterns know reshapes where exporters write them."""
