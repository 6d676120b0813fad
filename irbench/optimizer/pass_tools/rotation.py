"""Read how a graph rotates pairs of elements of the last axis, as rotary position embedding does.

A pair is (a, b): one element from each half of the axis, or two neighbours. It becomes (a cos - b sin, b cos + a sin).

Both elements of a pair have the same angle. So tables of cosines and sines hold every number of their last axis twice,
which is proved here, and half of a table is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import ONE, Elements, Size, product, sizes_of
from irbench.onnx.slices import axis_slices, is_whole
from irbench.optimizer.pass_tools.edit import add_constant, insert, insert_reshape, is_node, only_reader, scalar, weight

if TYPE_CHECKING:
    import onnx_ir as ir

Known = Mapping["ir.Value", Elements]
_SAME_ORDER = ("Unsqueeze", "Squeeze", "Reshape", "Flatten")


@dataclass(frozen=True)
class Rotation:
    """What is rotated by what.

    Attributes:
        source: What is rotated; its last axis holds the pairs.
        cosine: Factor of the pairs, of as many elements as the last axis, or of half as many.
        neighbours: Whether a pair is two neighbours; otherwise its elements are half the axis apart.
    """

    source: ir.Value
    cosine: ir.Value
    sine: ir.Value
    neighbours: bool


class Cut(NamedTuple):
    """A value that is every ``step``-th element from ``start`` to before ``end`` of the last axis of another one."""

    source: ir.Value
    start: int
    end: int
    step: int


class _ElementPairs(NamedTuple):
    """Two values put together as the elements of pairs."""

    first: ir.Value
    second: ir.Value
    neighbours: bool


def read_rotation(node: ir.Node, known: Known) -> Rotation | None:
    """Return the rotation that a node completes, if there is one."""
    return _of_whole(node, known) if is_node(node.outputs[0], "Add") else _of_parts(node, known)


def cut(value: ir.Value | None, known: Known) -> Cut | None:
    """Return which elements of the last axis of another value this one is."""
    if is_node(value, "Gather", "Squeeze"):
        return _unbound(value)
    node = value.producer() if value is not None and is_node(value, "Split", "Slice") else None
    source = node.inputs[0] if node is not None else None
    whole, own = sizes_of(source), sizes_of(value)
    if node is None or source is None or not whole or not own or whole[-1].number is None:
        return None
    return _slice(node, source, whole, known) if node.op_type == "Slice" else _split(node, source, value, len(whole))


def _slice(node: ir.Node, source: ir.Value, sizes: Sequence[Size], known: Known) -> Cut | None:
    slices, length = axis_slices(node, known), sizes[-1].number
    parts = [part for part in slices or () if not is_whole(part, source)]
    if len(parts) != 1 or parts[0].axis != len(sizes) - 1 or length is None:
        return None
    start, end, step = parts[0].start.number, parts[0].end.number, parts[0].step
    if start is None or end is None or step < 1 or start < 0 or end < 0:
        return None
    return Cut(source, start, min(end, length), step)


def _split(node: ir.Node, source: ir.Value, value: ir.Value | None, rank: int) -> Cut | None:
    lengths = [(sizes_of(output) or [Size(0, ("?",))])[-1].number for output in node.outputs]
    if node.attributes.get_int("axis", 0) % rank != rank - 1 or None in lengths:
        return None
    place = next(place for place, output in enumerate(node.outputs) if output is value)
    numbers = [length or 0 for length in lengths]
    return Cut(source, sum(numbers[:place]), sum(numbers[: place + 1]), 1)


def _unbound(value: ir.Value | None) -> Cut | None:
    """Read one of the rows or columns into which a Reshape writes the last axis."""
    part = _taken(value)
    split = part[0].producer() if part is not None and is_node(part[0], "Reshape") else None
    source, sizes = (split.inputs[0], sizes_of(split.outputs[0])) if split is not None else (None, None)
    before = sizes_of(source)
    if part is None or source is None or before is None or sizes is None or len(sizes) < 2:
        return None
    rows, columns = sizes[-2].number, sizes[-1].number
    if list(sizes[:-2]) != list(before[:-1]) or rows is None or columns is None:
        return None
    _, axis, index = part
    if axis == len(sizes) - 1 and 0 <= index < columns:
        return Cut(source, index, rows * columns, columns)
    return Cut(source, index * columns, (index + 1) * columns, 1) if axis == len(sizes) - 2 and index >= 0 else None


def _taken(value: ir.Value | None) -> tuple[ir.Value, int, int] | None:
    node = value.producer() if value is not None else None
    inner = node.inputs[0] if node is not None else None
    if node is None or inner is None:
        return None
    if node.op_type == "Gather":
        places, rank = weight(node.inputs[1]), len(sizes_of(inner) or ())
        alone = places is not None and places.ndim == 0 and rank > 0
        return (inner, node.attributes.get_int("axis", 0) % rank, int(places)) if alone and places is not None else None
    split = inner.producer() if is_node(inner, "Split") else None
    whole, sizes = (split.inputs[0], sizes_of(split.inputs[0])) if split is not None else (None, None)
    if split is None or whole is None or not sizes:
        return None
    axis = split.attributes.get_int("axis", 0) % len(sizes)
    left = [*sizes[:axis], *sizes[axis + 1 :]]
    if sizes[axis] != Size(len(split.outputs)) or list(sizes_of(value) or ()) != left:
        return None
    return whole, axis, next(place for place, output in enumerate(split.outputs) if output is inner)


def _of_whole(node: ir.Node, known: Known) -> Rotation | None:
    for straight, turned in _orders(node):
        for rotated, sine in _product(turned, node):
            pairs = _pairs(rotated)
            source = _turned_source(pairs, known) if pairs is not None else None
            if pairs is None or source is None:
                continue
            for other, cosine in _product(straight, node):
                if other is source and sizes_of(rotated) == sizes_of(source) == sizes_of(node.outputs[0]):
                    return Rotation(source, cosine, sine, pairs.neighbours)
    return None


def _turned_source(pairs: _ElementPairs, known: Known) -> ir.Value | None:
    """Return x where the pairs are (-b, a), a and b the elements of its own pairs."""
    negative, positive = _negated(pairs.first), _in_order(pairs.second)
    return None if negative is None else _own(positive, negative, pairs.neighbours, known)


def _negated(value: ir.Value) -> ir.Value | None:
    value = _in_order(value)
    node = value.producer() if is_node(value, "Neg", "Mul") else None
    if node is None:
        return None
    operands = [node.inputs[0]] if node.op_type == "Neg" else [a for a, b in _orders(node) if scalar(b) == -1]
    return next((_in_order(operand) for operand in operands if operand is not None), None)


def _of_parts(node: ir.Node, known: Known) -> Rotation | None:
    """Read (a * cos - b * sin, b * cos + a * sin), put together."""
    pairs = _pairs(node.outputs[0])
    if pairs is None or not is_node(pairs.first, "Sub") or not is_node(pairs.second, "Add"):
        return None
    difference, total = pairs.first.producer(), pairs.second.producer()
    assert difference is not None
    assert total is not None
    for a, cosine in _product(difference.inputs[0], difference):
        for b, sine in _product(difference.inputs[1], difference):
            source = _own(a, b, pairs.neighbours, known)
            expected = {frozenset((b, cosine)), frozenset((a, sine))}
            factors = {frozenset(_factors(operand)) for operand in total.inputs}
            if source is not None and factors == expected and sizes_of(source) == sizes_of(node.outputs[0]):
                return Rotation(source, cosine, sine, pairs.neighbours)
    return None


def _own(a: ir.Value, b: ir.Value, neighbours: bool, known: Known) -> ir.Value | None:
    first, second = cut(a, known), cut(b, known)
    sizes = sizes_of(first.source) if first is not None else None
    length = sizes[-1].number if sizes else None
    if first is None or second is None or first.source is not second.source or not length or length % 2:
        return None
    half = length // 2
    apart = ((0, half, 1), (half, length, 1))
    expected = ((0, length, 2), (1, length, 2)) if neighbours else apart
    return first.source if (first[1:], second[1:]) == expected else None


def _pairs(value: ir.Value | None) -> _ElementPairs | None:
    """Read values that are concatenated along the last axis, or stacked along a new one that is then merged with it."""
    sizes = sizes_of(value)
    if value is None or not sizes or sizes[-1].number is None or sizes[-1].number % 2:
        return None
    merged = value.producer() if is_node(value, "Reshape") else None
    joint = merged.inputs[0] if merged is not None else value
    concat = joint.producer() if joint is not None and is_node(joint, "Concat") else None
    inner = sizes_of(joint)
    if concat is None or inner is None or len(concat.inputs) != 2:
        return None
    first, second = concat.inputs
    half, axis = Size(sizes[-1].number // 2), concat.attributes.get_int("axis", 0) % len(inner)
    stacks = {len(sizes) - 1: [Size(2), half], len(sizes): [half, Size(2)]}
    if first is None or second is None or sizes_of(first) != sizes_of(second):
        return None
    if merged is None:
        return _ElementPairs(first, second, False) if axis == len(sizes) - 1 else None
    if list(inner) != [*sizes[:-1], *stacks.get(axis, [])]:
        return None
    return _ElementPairs(_in_order(first), _in_order(second), axis == len(sizes))


def _in_order(value: ir.Value) -> ir.Value:
    """Return what a value is made of by axes of size one alone, which leaves the order of the elements."""
    while is_node(value, *_SAME_ORDER):
        node = value.producer()
        inner = node.inputs[0] if node is not None else None
        if inner is None or _longer(inner) is None or _longer(inner) != _longer(value):
            break
        value = inner
    return value


def _longer(value: ir.Value) -> list[Size] | None:
    sizes = sizes_of(value)
    return None if sizes is None else [size for size in sizes if size != ONE]


def _factors(value: ir.Value | None) -> list[ir.Value]:
    node = value.producer() if value is not None and is_node(value, "Mul") else None
    return [] if node is None else [factor for factor in node.inputs if factor is not None]


def _product(value: ir.Value | None, reader: ir.Node) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Yield the factors of a product in both orders, if nothing but the reader needs it."""
    if value is not None and len(_factors(value)) == 2 and only_reader(value) is reader:
        first, second = _factors(value)
        yield from ((first, second), (second, first))


def _orders(node: ir.Node) -> Iterator[tuple[ir.Value, ir.Value]]:
    first, second = node.inputs
    if first is not None and second is not None:
        yield from ((first, second), (second, first))


_ELEMENTWISE = ("Cos", "Sin", "Cast", "Neg")
_WITH_NUMBER = ("Mul", "Div", "Add", "Sub")


class HalfTables:
    """Computes halves of tables, each once.

    Args:
        neighbours: Whether equal numbers are neighbours; otherwise the second half of the last axis repeats the first.
    """

    def __init__(self, neighbours: bool) -> None:
        self._neighbours = neighbours
        self._made: dict[ir.Value, ir.Value | None] = {}

    def half(self, table: ir.Value | None, before: ir.Node) -> ir.Value | None:
        """Return the table with every number once, or ``None`` where nothing proves that all are there twice."""
        sizes = sizes_of(table)
        if table is None or not sizes or sizes[-1].number is None or sizes[-1].number % 2:
            return None
        if table not in self._made:
            self._made[table] = self._compute(table, [*sizes[:-1], Size(sizes[-1].number // 2)], before)
        return self._made[table]

    def _compute(self, table: ir.Value, sizes: list[Size], before: ir.Node) -> ir.Value | None:
        if weight(table) is not None:
            return self._of_constant(table, before)
        node = table.producer()
        read: dict[str, Callable[..., ir.Value | None]] = {
            **dict.fromkeys(_ELEMENTWISE, self._elementwise),
            **dict.fromkeys(_WITH_NUMBER, self._with_number),
            "Concat": self._concatenated,
            "Reshape": self._reshaped,
            "Unsqueeze": self._reshaped,
            "Squeeze": self._reshaped,
            "Transpose": self._transposed,
            "Gather": self._gathered,
            "Slice": self._sliced,
            "Tile": self._tiled,
        }
        compute = read.get(node.op_type) if node is not None and is_node(table, *read) else None
        half = compute(node, sizes, before) if compute is not None else None
        if half is not None:
            half.type = table.type
            set_sizes(half, sizes)
        return half

    def _of_constant(self, table: ir.Value, before: ir.Node) -> ir.Value | None:
        array = weight(table)
        assert array is not None
        first, second = (array[..., ::2], array[..., 1::2]) if self._neighbours else np.split(array, 2, axis=-1)
        if before.graph is None or not np.array_equal(first, second):
            return None
        return add_constant(before.graph, first, table)

    def _elementwise(self, node: ir.Node, _: list[Size], before: ir.Node) -> ir.Value | None:
        inner = self.half(node.inputs[0], before)
        return None if inner is None else insert(before, node.op_type, [inner], dict(node.attributes))

    def _with_number(self, node: ir.Node, sizes: list[Size], before: ir.Node) -> ir.Value | None:
        for place, other in enumerate(node.inputs):
            table = node.inputs[1 - place]
            if scalar(other) is None or other is None or other.shape is None or len(other.shape) > len(sizes):
                continue
            inner = self.half(table, before) if len(sizes_of(table) or ()) == len(sizes) else None
            if inner is not None:
                return insert(before, node.op_type, [inner, other] if place else [other, inner])
        return None

    def _concatenated(self, node: ir.Node, sizes: list[Size], _: ir.Node) -> ir.Value | None:
        last = node.attributes.get_int("axis", 0) % len(sizes) == len(sizes) - 1
        first = node.inputs[0]
        if self._neighbours or not last or len(node.inputs) != 2 or first is not node.inputs[1]:
            return None
        return first

    def _reshaped(self, node: ir.Node, sizes: list[Size], before: ir.Node) -> ir.Value | None:
        """Leave the last axis alone, or merge with it the axis along which equal parts were stacked."""
        source, before_sizes = node.inputs[0], sizes_of(node.inputs[0])
        whole = Size(2 * sizes[-1].factor)
        if source is None or not before_sizes:
            return None
        if before_sizes[-1] == whole:
            return insert_reshape(before, self.half(source, before), sizes)
        stacked = [sizes[-1], Size(2)] if self._neighbours else [Size(2), sizes[-1]]
        if list(before_sizes[-2:]) != stacked or product(before_sizes) != product([*sizes, Size(2)]):
            return None
        return insert_reshape(before, self._part_of_stack(source, len(before_sizes)), sizes)

    def _part_of_stack(self, value: ir.Value, rank: int) -> ir.Value | None:
        """Return what a stack of two equal parts is made of; it has one element where the stack has two."""
        axis = rank - 1 if self._neighbours else rank - 2
        node = value.producer() if is_node(value, "Concat", "Tile") else None
        if node is None:
            return None
        first = node.inputs[0]
        if node.op_type == "Tile":
            repeats = weight(node.inputs[1])
            target_shape = [2 if place == axis else 1 for place in range(rank)]
            return first if repeats is not None and repeats.tolist() == target_shape else None
        along = node.attributes.get_int("axis", 0) % rank == axis
        return first if along and len(node.inputs) == 2 and first is node.inputs[1] else None

    def _transposed(self, node: ir.Node, sizes: list[Size], before: ir.Node) -> ir.Value | None:
        order = node.attributes.get_ints("perm", range(len(sizes))[::-1])
        if order[-1] != len(sizes) - 1:
            return None
        inner = self.half(node.inputs[0], before)
        return None if inner is None else insert(before, "Transpose", [inner], {"perm": list(order)})

    def _gathered(self, node: ir.Node, _: list[Size], before: ir.Node) -> ir.Value | None:
        rank, axis = len(sizes_of(node.inputs[0]) or ()), node.attributes.get_int("axis", 0)
        if rank < 2 or axis % rank == rank - 1:
            return None
        inner = self.half(node.inputs[0], before)
        return None if inner is None else insert(before, "Gather", [inner, node.inputs[1]], {"axis": axis})

    def _sliced(self, node: ir.Node, sizes: list[Size], before: ir.Node) -> ir.Value | None:
        axes = weight(node.inputs[3]) if len(node.inputs) > 3 else None
        if axes is None or len(sizes) - 1 in axes % len(sizes):
            return None
        inner = self.half(node.inputs[0], before)
        return None if inner is None else insert(before, "Slice", [inner, *node.inputs[1:]])

    def _tiled(self, node: ir.Node, sizes: list[Size], _: ir.Node) -> ir.Value | None:
        """Take what is repeated twice along the last axis, and nowhere else."""
        source, repeats = node.inputs[0], weight(node.inputs[1])
        expected = [ONE.factor] * (len(sizes) - 1) + [2]
        if self._neighbours or source is None or repeats is None or repeats.tolist() != expected:
            return None
        return source
