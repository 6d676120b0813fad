"""Nodes that lay a tensor out anew, from the steps of :mod:`irbench.optimizer.rewrite.layout`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import set_sizes
from irbench.onnx.sizes import Size, sizes_of
from irbench.optimizer.rewrite.edit import add_constant, insert, reshape_operation
from irbench.optimizer.rewrite.layout import Step

if TYPE_CHECKING:
    import onnx_ir as ir


def write_steps(before: ir.Node, source: ir.Value, steps: Sequence[Step]) -> ir.Value | None:
    """Lay a value out anew in front of a node and return the result; ``None`` where no constant can say a step."""
    targets = _targets(source, steps)
    graph = before.graph
    if targets is None or graph is None:
        return None
    value = source
    for operation, numbers, sizes in targets:
        if operation == "Transpose":
            value = insert(before, operation, [value], {"perm": numbers})
        else:
            constant = add_constant(graph, np.array(numbers, np.int64), before.outputs[0])
            value = insert(before, operation, [value, constant])
        set_sizes(value, sizes)
    return value


def _targets(source: ir.Value, steps: Sequence[Step]) -> list[tuple[str, list[int], list[Size]]] | None:
    """Return the operation of each step with its permutation, target or axes, and the sizes after it."""
    sizes = list(sizes_of(source) or ())
    targets: list[tuple[str, list[int], list[Size]]] = []
    for operation, wanted in steps:
        if operation == "Transpose":
            order = [place for place in wanted if isinstance(place, int)]
            found: tuple[str, list[int]] | None = (operation, order)
            sizes = [sizes[place] for place in order]
        else:
            after = [size for size in wanted if isinstance(size, Size)]
            found, sizes = reshape_operation(sizes, after), after
        if found is None:
            return None
        name, values = found
        targets.append((name, values, sizes))
    return targets
