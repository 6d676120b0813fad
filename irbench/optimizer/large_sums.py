"""Operations whose sums would leave fp16's range, or its precision, on the way to a result that fits.

The largest number of fp16 is 65504, and a sum of 2,048 equal numbers no longer grows by one more of them. A mean of
pixels is between 0 and 255, and the sum that it comes from is not.

1. What adds up :data:`LARGE_EXTENT` elements or more, or a number that nobody knows, stays fp32
2. So does a sum of squares of any extent, as variances and norms have it, with the square before it, and with the
   epsilon and the root behind it

``LayerNormalization`` and ``GroupNormalization`` say themselves in which type they add up (``stash_type``): fp32,
unless they are asked for another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from irbench.optimizer.pass_tools.edit import scalar, weight

if TYPE_CHECKING:
    import onnx_ir as ir

LARGE_EXTENT = 1024
"""Numbers up to 64 have a sum within fp16's range where there are fewer of them."""
_REDUCING = frozenset({"ReduceL1", "ReduceLogSum", "ReduceMean", "ReduceSum"})
_OVER_POSITIONS = frozenset({"GlobalAveragePool", "GlobalLpPool", "InstanceNormalization"})
"""What adds up along all axes but those of samples and channels."""
_POOLING = frozenset({"AveragePool", "LpPool"})
_STASHING = frozenset({"GroupNormalization", "LayerNormalization"})
_FLOAT = 1
_FIRST_STASHING = {"GroupNormalization": 21, "LayerNormalization": 17}
_BEHIND_SQUARES = frozenset({"Add", "Max", "Reciprocal", "Sqrt"})


def find_large_sums(model: ir.Model) -> frozenset[ir.Node]:
    """Return the operations of the main graph that stay fp32; ``model`` has its shapes."""
    opset = model.graph.opset_imports.get("", 0)
    kept: set[ir.Node] = set()
    for node in model.graph:
        if node.domain not in ("", "ai.onnx"):
            continue
        square = node.inputs[0].producer() if _sums(node) and node.inputs and node.inputs[0] is not None else None
        if square is not None and _is_square(square):
            kept.update((square, node, *_behind(node)))
        elif _extent(node, opset) >= LARGE_EXTENT:
            kept.add(node)
    return frozenset(kept)


def _sums(node: ir.Node) -> bool:
    return node.op_type in ("GlobalAveragePool", "ReduceMean", "ReduceSum")


def _is_square(node: ir.Node) -> bool:
    if node.op_type == "Mul":
        return node.inputs[0] is node.inputs[1]
    return node.op_type == "Pow" and scalar(node.inputs[1]) == 2.0


def _behind(node: ir.Node) -> Iterator[ir.Node]:
    """Yield what makes a deviation of a sum of squares: an epsilon is added, and the root is taken."""
    for reader in node.outputs[0].consumers():
        others = [value for value in reader.inputs if value is not node.outputs[0]]
        if reader.op_type in _BEHIND_SQUARES and all(scalar(value) is not None for value in others):
            yield reader
            yield from _behind(reader)


def _extent(node: ir.Node, opset: int) -> float:
    """Return how many elements are added up to one; infinity where that is unknown, 0 for what adds nothing up."""
    if node.op_type in _POOLING:
        return math.prod(node.attributes.get_ints("kernel_shape", ()))
    if node.op_type in _STASHING:
        stashes = opset >= _FIRST_STASHING[node.op_type] and node.attributes.get_int("stash_type", _FLOAT) == _FLOAT
        return 0 if stashes else _product(node.inputs[0], None)
    if node.op_type in _OVER_POSITIONS:
        return _product(node.inputs[0], range(2, _rank(node.inputs[0])))
    if node.op_type == "MeanVarianceNormalization":
        return _product(node.inputs[0], node.attributes.get_ints("axes", (0, 2, 3)))
    return _product(node.inputs[0], _axes(node)) if node.op_type in _REDUCING else 0


def _axes(node: ir.Node) -> Iterable[int] | None:
    """Return the axes of a reduction; ``None`` for all of them, also where they are computed."""
    given = node.inputs[1] if len(node.inputs) > 1 else None
    if given is not None:
        known = weight(given)
        return None if known is None or not known.size else [int(axis) for axis in known.reshape(-1)]
    axes = list(node.attributes.get_ints("axes", ()))
    return axes or None


def _rank(value: ir.Value | None) -> int:
    return 0 if value is None or value.shape is None else len(value.shape)


def _product(value: ir.Value | None, axes: Iterable[int] | None) -> float:
    """Return the product of the sizes along axes; infinity where one is unknown."""
    if value is None or value.shape is None:
        return math.inf
    sizes = [value.shape[axis] for axis in (range(len(value.shape)) if axes is None else axes)]
    return math.prod(size if isinstance(size, int) else math.inf for size in sizes)
