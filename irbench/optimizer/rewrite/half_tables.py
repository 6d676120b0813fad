"""Tables whose last axis holds every number twice: prove it, and compute only half of it.

The cosines and sines of rotary position embedding are such tables: both elements of a pair have the same angle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import ONE, Size, product, sizes_of
from irbench.optimizer.rewrite.edit import add_constant, insert, insert_reshape, is_node, scalar, weight

if TYPE_CHECKING:
    import onnx_ir as ir

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
        made = compute(node, sizes, before) if compute is not None else None
        if made is not None:
            made.type = table.type
            set_sizes(made, sizes)
        return made

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
        """Take the first of two equal parts."""
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
            wanted = [2 if place == axis else 1 for place in range(rank)]
            return first if repeats is not None and repeats.tolist() == wanted else None
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
        wanted = [ONE.factor] * (len(sizes) - 1) + [2]
        if self._neighbours or source is None or repeats is None or repeats.tolist() != wanted:
            return None
        return source
