"""Nodes that lay a tensor out anew, from the steps of :mod:`irbench.optimizer.rewrite.layout`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import reshape_target, set_sizes
from irbench.onnx.sizes import Size, sizes_of
from irbench.optimizer.rewrite.edit import add_constant, insert
from irbench.optimizer.rewrite.layout import Step

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["write_steps"]


def write_steps(before: ir.Node, source: ir.Value, steps: Sequence[Step]) -> ir.Value | None:
    """Lay a value out anew in front of a node and return the result; ``None`` where no constant can say a step."""
    targets = _targets(source, steps)
    graph = before.graph
    if targets is None or graph is None:
        return None
    value = source
    for (operation, _), (target, sizes) in zip(steps, targets, strict=True):
        if operation == "Transpose":
            value = insert(before, operation, [value], {"perm": target})
        else:
            constant = add_constant(graph, np.array(target, np.int64), before.outputs[0])
            value = insert(before, operation, [value, constant])
        set_sizes(value, sizes)
    return value


def _targets(source: ir.Value, steps: Sequence[Step]) -> list[tuple[list[int], list[Size]]] | None:
    """Return the permutation or target of each step, and the sizes after it."""
    sizes = list(sizes_of(source) or ())
    targets: list[tuple[list[int], list[Size]]] = []
    for operation, wanted in steps:
        if operation == "Transpose":
            target: list[int] | None = [place for place in wanted if isinstance(place, int)]
            sizes = [sizes[place] for place in target or ()]
        else:
            after = [size for size in wanted if isinstance(size, Size)]
            target, sizes = reshape_target(sizes, after), after
        if target is None:
            return None
        targets.append((target, sizes))
    return targets
