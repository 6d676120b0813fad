"""What must stay fp32 where the masks of a graph have numbers beyond the range of a narrow float.

What attention must not see gets a large negative number: -1e9, or the lowest one of fp32. Both are -inf in fp16, and a
row that sees nothing becomes zeros or NaN instead of the mean that it is in fp32. Clipped to fp16's range they are not
large enough: -65472 + score still depends on the score where a runtime adds in fp32, as ONNX Runtime does.

1. A Softmax of scores that such a mask was added to, or that it was put in the place of, stays fp32, as do the
   operations that compute the mask and apply it
2. ``Attention`` takes its mask in its own type. What computes the mask stays fp32, so that two of them can be added;
   then its finite numbers are clipped to the range, and infinite ones stay

Float inputs of the graph that are applied as masks count too, because their numbers are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irbench.optimizer.pass_tools.edit import MOVING, scalar, weight
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx_ir as ir


_MASK_OF_ATTENTION = 3
"""Which input of ``Attention`` is its mask."""
_NORMALIZING = frozenset({"LogSoftmax", "Softmax"})
_APPLYING = frozenset({"Add", "Max", "Min", "Sub", "Where"})
"""What brings scores and their mask together."""
_FORWARDING = MOVING | {"Cast"}
"""What gives numbers of its first input alone."""
_COMPUTING = frozenset({"Concat", "Div", "Mul", "Neg"}) | _APPLYING


@dataclass(frozen=True)
class WideMasks:
    """What large masks ask for.

    Attributes:
        nodes: Operations that stay fp32.
        bounded: Values whose finite numbers are clipped to the narrow type's range where they become narrow.
    """

    nodes: frozenset[ir.Node]
    bounded: frozenset[ir.Value]


def find_wide_masks(model: ir.Model, largest: float) -> WideMasks:
    """Return what the masks of a model ask for that have numbers beyond the largest one of the narrow type."""
    values = _Values(model, largest)
    nodes: set[ir.Node] = set()
    masks: set[ir.Value | None] = set()
    for node in model.graph:
        if _is_one_of(node, _NORMALIZING):
            path = list(values.path(node.inputs[0]))
            nodes.update([node, *path] if any(step.op_type in _APPLYING for step in path) else [])
        elif _is_one_of(node, {"Attention"}) and len(node.inputs) > _MASK_OF_ATTENTION:
            masks.add(node.inputs[_MASK_OF_ATTENTION])
            nodes.update(values.path(node.inputs[_MASK_OF_ATTENTION]))
    touched = masks.union(*((*node.inputs, *node.outputs) for node in nodes))
    return WideMasks(frozenset(nodes), frozenset(values.exceeding.intersection(touched)))


class _Values:
    """Knows which values of a graph may be beyond the range, as far as masks are concerned."""

    def __init__(self, model: ir.Model, largest: float) -> None:
        self._largest = largest
        inputs = [value for value in model.graph.inputs if value.dtype is not None and value.dtype.name == "FLOAT"]
        self.exceeding: set[ir.Value] = set(inputs)
        self._flags: set[ir.Value] = set()
        for node in model.graph:
            self._add(node)

    def path(self, mask: ir.Value | None) -> Iterator[ir.Node]:
        """Yield the operations that a mask comes through; those that turn flags into numbers are among them."""
        waiting = [mask] if mask in self.exceeding else []
        seen: set[ir.Node] = set()
        while waiting:
            value = waiting.pop()
            node = value.producer() if value is not None else None
            if node is not None and node not in seen and not value.is_graph_input():
                seen.add(node)
                yield node
                waiting += [source for source in _sources(node) if source in self.exceeding or source in self._flags]

    def _add(self, node: ir.Node) -> None:
        sources = _sources(node)
        if _filling_exceeds(node, self._largest) or any(map(self._exceeds, sources)):
            self.exceeding.update(node.outputs)
        elif self._is_made_of_flags(node, sources):
            self._flags.update(node.outputs)

    def _is_made_of_flags(self, node: ir.Node, sources: Sequence[ir.Value]) -> bool:
        """Whether a node turns flags into numbers, or computes with such numbers and single constants."""
        if _is_one_of(node, {"Cast"}) and not _is_float(sources[0]):
            return True
        alone = all(source in self._flags or scalar(source) is not None for source in sources)
        return alone and bool(self._flags.intersection(sources))

    def _exceeds(self, value: ir.Value) -> bool:
        if value not in self.exceeding and _holds_beyond(weight(value), self._largest):
            self.exceeding.add(value)
        return value in self.exceeding


def _is_one_of(node: ir.Node, operations: frozenset[str] | set[str]) -> bool:
    return node.domain == "" and node.op_type in operations


def _is_float(value: ir.Value) -> bool:
    return value.dtype is None or value.dtype.is_floating_point()


def _filling_exceeds(node: ir.Node, largest: float) -> bool:
    filling = node.attributes.get("value") if _is_one_of(node, {"ConstantOfShape"}) else None
    return filling is not None and _holds_beyond(filling.as_tensor().numpy(), largest)


def _holds_beyond(array: Array | None, largest: float) -> bool:
    if array is None or array.dtype.kind not in "fiu" or not array.size:
        return False
    ends = np.array([array.min(), array.max()], np.float64)
    if not np.isfinite(ends).all():
        ends = np.abs(array[np.isfinite(array)], dtype=np.float64)
    return bool((np.abs(ends) > largest).any())


def _sources(node: ir.Node) -> list[ir.Value]:
    """Return the inputs whose numbers an operation gives on, larger or smaller; none for any other operation."""
    if _is_one_of(node, _FORWARDING):
        inputs = node.inputs[:1]
    elif _is_one_of(node, _COMPUTING):
        inputs = node.inputs[1:] if node.op_type == "Where" else node.inputs
    else:
        return []
    return [value for value in inputs if value is not None]
