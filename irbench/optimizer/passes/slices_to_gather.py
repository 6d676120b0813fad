"""Write slices of one tensor that are joined again, as those of a roll are, as one Gather.

1. Concat(Slice(x), Slice(x), ..) along an axis, each of that axis alone   -> Gather(x, a constant)

The axis has a known size, and there is more than one element for each of its indices: a Gather would copy element after
element. Nothing else reads the slices. Windows of images that are shifted (Swin) roll so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.shapes import infer, set_sizes
from irbench.onnx.sizes import ONE, product, sizes_of
from irbench.onnx.slices import axis_slices, is_whole
from irbench.optimizer.pass_tools.edit import add_constant, clean, insert, is_node, only_reader, replace
from irbench.optimizer.passes import Rewrite
from irbench.spi import Array, Pass

if TYPE_CHECKING:
    from collections.abc import Mapping

    import onnx_ir as ir

    from irbench.onnx.sizes import Elements

_LONGEST = 1 << 16
"""The longest axis: the file gets eight bytes for each index."""


def _slices_to_gather(model: ir.Model) -> bool:
    known = infer(model)
    joined = [node for node in model.graph if is_node(node.outputs[0], "Concat")]
    changed = sum([_replace(node, known) for node in joined]) > 0
    if changed:
        clean(model)
    return changed


def _replace(node: ir.Node, known: Mapping[ir.Value, Elements]) -> bool:
    """Rule 1."""
    sizes, graph = sizes_of(node.outputs[0]), node.graph
    slices = [
        value.producer()
        for value in node.inputs
        if value is not None and is_node(value, "Slice") and only_reader(value) is node
    ]
    if sizes is None or graph is None or len(node.inputs) < 2 or len(slices) < len(node.inputs):
        return False
    axis = node.attributes.get_int("axis", 0) % len(sizes)
    taken = [_taken(part, axis, known) for part in slices if part is not None]
    places = [indices for indices in taken if indices is not None]
    sources = {part.inputs[0] for part in slices if part is not None}
    if len(places) < len(slices) or len(sources) > 1:
        return False
    gather = insert(
        node, "Gather", [*sources, add_constant(graph, np.concatenate(places), node.outputs[0])], {"axis": axis}
    )
    set_sizes(gather, sizes)
    replace(node.outputs[0], gather)
    return True


def _taken(node: ir.Node, axis: int, known: Mapping[ir.Value, Elements]) -> Array | None:
    source, sizes, parts = node.inputs[0], sizes_of(node.inputs[0]), axis_slices(node, known)
    if source is None or sizes is None or parts is None or product(sizes[axis + 1 :]) == ONE:
        return None
    length = sizes[axis].number
    if length is None or length > _LONGEST:
        return None
    places = np.arange(length, dtype=np.int64)
    for part in parts:
        if part.axis == axis and part.start.number is not None and part.end.number is not None:
            places = places[part.start.number : part.end.number : part.step]
        elif part.axis == axis or not is_whole(part, source):
            return None
    return places


slices_to_gather: Pass = Rewrite(
    "slices_to_gather", "slices of one tensor that are joined again in one Gather", _slices_to_gather
)
"""Behind :data:`irbench.optimizer.passes.attention.fuse_rotary_embedding.fuse_rotary_embedding`, which looks for such
slices."""
