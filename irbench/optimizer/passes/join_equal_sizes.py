"""Compute sizes once where several tensors have the same ones.

1. Two small integer tensors, each element of them the same number or the same dynamic size   -> the first of them

Each layer of a model asks for the sizes of its own input. Where those are dynamic, ``fold_shapes`` can put no constant.
But they are the same in all layers, and so is what is computed from them: positions, masks, tables. What then is the
same operation on the same inputs is joined by ``remove_redundant``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.shapes import Elements, infer
from irbench.optimizer.passes import Rewrite
from irbench.optimizer.rewrite.edit import clean, replace
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir

__all__ = ["join_equal_sizes"]


def _join_equal_sizes(model: ir.Model) -> bool:
    known = infer(model)
    first: dict[tuple[Elements, str, int], ir.Value] = {}
    changed = False
    for node in list(model.graph):
        value = node.outputs[0]
        elements = known.get(value)
        if elements is None or None in elements or value.dtype is None or value.shape is None or len(node.outputs) > 1:
            continue
        earlier = first.setdefault((elements, value.dtype.name, len(value.shape)), value)
        if earlier is not value and value.uses() and not value.is_graph_output():
            replace(value, earlier)
            changed = True
    if changed:
        clean(model)
    return changed


join_equal_sizes: Pass = Rewrite("join_equal_sizes", "sizes computed once where they are the same", _join_equal_sizes)
