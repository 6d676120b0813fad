"""Put operations in front of a node, and compute at once those that only read constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.sizes import ONE, Size, sizes_of
from irbench.optimizer.rewrite.edit import add_constant, described, insert, insert_reshape, weight
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir

_MAX_ELEMENTS = 1 << 22
"""A constant with more is left to the runtime: 16 MiB would be added to the file."""

_COMPUTED: Mapping[str, Callable[..., Array]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Greater": np.greater,
    "Max": np.maximum,
    "Mul": np.multiply,
    "Not": np.logical_not,
    "Where": np.where,
}


def _stretched(*operands: Sequence[Size]) -> list[Size]:
    """Return the sizes of what is computed elementwise from operands that are as large, or one along an axis."""
    rank = max(map(len, operands))
    columns = zip(*([ONE] * (rank - len(sizes)) + list(sizes) for sizes in operands), strict=True)
    return [next((size for size in column if size != ONE), ONE) for column in columns]


class Inserter:
    """Puts operations in front of one node, each with its type and sizes.

    All sizes of what goes in must be known, dynamic ones by name.

    Args:
        before: The node.
    """

    def __init__(self, before: ir.Node) -> None:
        self.before = before

    def constant(self, array: Array) -> ir.Value:
        """Return a new constant."""
        assert self.before.graph is not None
        return add_constant(self.before.graph, array, self.before.outputs[0])

    def elementwise(self, operation: str, *operands: ir.Value) -> ir.Value:
        """Return an elementwise operation on operands of which each is as large as the result or stretched to it."""
        import onnx_ir as ir

        arrays = [weight(operand) for operand in operands]
        sizes = _stretched(*(_sizes(operand) for operand in operands))
        if self._is_small(sizes) and all(array is not None for array in arrays):
            return self.constant(_COMPUTED[operation](*arrays))
        dtype = ir.DataType.BOOL if operation == "Greater" else operands[-1].dtype
        return described(insert(self.before, operation, operands), dtype, sizes)

    def transpose(self, value: ir.Value) -> ir.Value:
        """Return a value with its last two axes exchanged."""
        array, sizes = weight(value), list(_sizes(value))
        swapped = [*sizes[:-2], sizes[-1], sizes[-2]]
        if array is not None:
            return self.constant(array.swapaxes(-1, -2))
        axes = list(range(len(sizes)))
        perm = [*axes[:-2], axes[-1], axes[-2]]
        return described(insert(self.before, "Transpose", [value], {"perm": perm}), value.dtype, swapped)

    def reshape(self, value: ir.Value, sizes: Sequence[Size]) -> ir.Value | None:
        """Return a value with other axes, or ``None`` where a constant cannot say which."""
        array, before = weight(value), _sizes(value)
        if list(before) == list(sizes):
            return value
        if array is not None:
            return self.constant(array.reshape([size.factor for size in sizes]))
        made = insert_reshape(self.before, value, sizes)
        return None if made is None else described(made, value.dtype, sizes)

    def expand(self, value: ir.Value, sizes: Sequence[Size]) -> ir.Value | None:
        """Return a value stretched to these sizes, or ``None`` where one that it is stretched to is unknown here.

        A dynamic size is read from an input of the graph that has it.
        """
        array, before = weight(value), _sizes(value)
        if list(before) == list(sizes):
            return value
        if array is not None and self._is_small(sizes):
            return self.constant(np.broadcast_to(array, [size.factor for size in sizes]))
        wanted = [ONE if size == old else size for size, old in zip(sizes, before, strict=True)]
        target = self._shape(wanted)
        return None if target is None else described(insert(self.before, "Expand", [value, target]), value.dtype, sizes)

    def any_of_last(self, condition: ir.Value) -> ir.Value:
        """Return whether a condition holds anywhere along its last axis, which becomes one long."""
        array, sizes = weight(condition), _sizes(condition)
        if array is not None:
            return self.constant(np.asarray(array.any(-1, keepdims=True)))
        if sizes[-1] == ONE:
            return condition
        made = insert(self.before, "ReduceMax", [condition, self.constant(np.array([-1], np.int64))])
        return described(made, condition.dtype, [*sizes[:-1], ONE])

    def _shape(self, sizes: Sequence[Size]) -> ir.Value | None:
        parts = [self._dimension(size) for size in sizes]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        arrays = [weight(part) for part in known]
        if all(array is not None for array in arrays):
            return self.constant(np.array([size.factor for size in sizes], np.int64))
        made = insert(self.before, "Concat", known, {"axis": 0})
        return described(made, known[0].dtype, [Size(len(parts))])

    def _dimension(self, size: Size) -> ir.Value | None:
        import onnx_ir as ir

        if size.number is not None:
            return self.constant(np.array([size.number], np.int64))
        assert self.before.graph is not None
        for value in self.before.graph.inputs:
            for place, found in enumerate(sizes_of(value) or ()):
                if found == size:
                    made = insert(self.before, "Shape", [value], {"start": place, "end": place + 1})
                    return described(made, ir.DataType.INT64, [ONE])
        return None

    def _is_small(self, sizes: Sequence[Size]) -> bool:
        numbers = [size.number for size in sizes]
        return None not in numbers and math.prod(number or 0 for number in numbers) <= _MAX_ELEMENTS


def _sizes(value: ir.Value) -> Sequence[Size]:
    sizes = sizes_of(value)
    assert sizes is not None
    return sizes
