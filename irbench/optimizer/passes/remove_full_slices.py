"""Remove slices that take everything.

1. Slice(x), every axis from 0 to its end or beyond, step 1     -> x

Where the size of an axis is not a known number, the end is that same dynamic size, or at least 10**9: exporters write
such numbers for the end of any axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import Elements
from irbench.onnx.slices import axis_slices, is_whole
from irbench.optimizer.pass_tools.edit import clean, is_node, replace
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _remove_full_slices(model: ir.Model) -> bool:
    known = infer(model)
    slices = [node for node in model.graph if is_node(node.outputs[0], "Slice")]
    changed = sum(_remove(node, known) for node in slices) > 0
    if changed:
        clean(model)
    return changed


def _remove(node: ir.Node, known: Mapping[ir.Value, Elements]) -> bool:
    """Rule 1."""
    source, output = node.inputs[0], node.outputs[0]
    parts = axis_slices(node, known)
    if source is None or parts is None or output.is_graph_output() or not output.uses():
        return False
    if not all(is_whole(part, source) for part in parts):
        return False
    replace(output, source)
    return True


remove_full_slices: Pass = Rewrite("remove_full_slices", "drop slices that take everything", _remove_full_slices)
