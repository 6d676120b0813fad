"""Fuse a residual connection with the normalisation behind it, for runtimes that read Microsoft's operators.

1. LayerNormalization(x + skip)                -> SkipLayerNormalization(x, skip)
2. LayerNormalization((x + bias) + skip)       -> SkipLayerNormalization(x, skip, bias), bias constant with one axis

Others may read the sum: the fused node gives it too. x and skip have the same shape with three axes, of which the last
is normalised, and are float32 or float16; scale and bias are there, with that axis alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import sizes_of
from irbench.optimizer.pass_tools.edit import clean, is_node, only_reader, replace
from irbench.optimizer.pass_tools.microsoft import MICROSOFT, bias_of, is_read, is_row
from irbench.optimizer.passes import Rewrite
from irbench.spi import Pass

if TYPE_CHECKING:
    import onnx_ir as ir


def _fuse(model: ir.Model) -> bool:
    infer(model)
    changed = sum(_fuse_one(node) for node in list(model.graph) if is_node(node.outputs[0], "LayerNormalization")) > 0
    if changed:
        model.graph.opset_imports[MICROSOFT] = 1
        clean(model)
    return changed


def _fuse_one(norm: ir.Node) -> bool:
    import onnx_ir as ir

    total = norm.inputs[0]
    add = total.producer() if total is not None and is_node(total, "Add") else None
    if add is None or total is None or not _fits(norm, add):
        return False
    x, skip, bias = _unbiased(add)
    others = len(list(total.uses())) > 1 or total.is_graph_output()
    epsilon = norm.attributes.get_float("epsilon", 1e-5)
    inputs = [x, skip, *norm.inputs[1:3], *([] if bias is None else [bias])]
    fused = ir.node(
        "SkipLayerNormalization", inputs, {"epsilon": epsilon}, domain=MICROSOFT, num_outputs=4 if others else 1
    )
    for output in fused.outputs:
        output.type, output.shape = total.type, total.shape
    norm.prepend(fused)
    replace(norm.outputs[0], fused.outputs[0])
    if others:
        fused.outputs[1].name = fused.outputs[2].name = ""
        replace(total, fused.outputs[3])
    return True


def _fits(norm: ir.Node, add: ir.Node) -> bool:
    sizes = [sizes_of(tensor) for tensor in (*add.inputs, add.outputs[0])]
    rows = [is_row(tensor, norm.inputs[0]) for tensor in norm.inputs[1:]]
    return (
        sizes[0] is not None
        and len(sizes[0]) == 3
        and sizes[0] == sizes[1] == sizes[2]
        and rows == [True, True]
        and len(norm.outputs) == 1
        and norm.attributes.get_int("axis", -1) in (-1, 2)
        and is_read(norm.inputs[0])
        and _precedes(norm, add)
    )


def _precedes(norm: ir.Node, add: ir.Node) -> bool:
    """Whether the sum is read by nothing before the normalisation, where the fused node will stand."""
    graph = norm.graph
    if graph is None:
        return False
    place = {node: number for number, node in enumerate(graph)}
    return all(place.get(use.node, -1) >= place[norm] for use in add.outputs[0].uses())


def _unbiased(add: ir.Node) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    for value, skip in (add.inputs, add.inputs[::-1]):
        bias = bias_of(value)
        if bias is not None and value is not None and only_reader(value) is add:
            return bias[0], skip, bias[1]
    return add.inputs[0], add.inputs[1], None


fuse_skip_layer_normalization: Pass = Rewrite(
    "fuse_skip_layer_normalization",
    "a residual connection and its normalisation in one of Microsoft's operators",
    _fuse,
    opset=17,
    vendor=MICROSOFT,
)
