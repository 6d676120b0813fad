"""Counts of onnx-tool, where it is installed, on networks that onnx brings."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from irbench.cost_model.counting import cost_of_file
from irbench.onnx.reading.signature import read

onnx_tool = pytest.importorskip("onnx_tool")
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
PRODUCTS = ("Conv", "Gemm", "MatMul")


def counted_by_onnx_tool(path: Path, inputs) -> dict[str, int]:
    """Return the MACs of the products and convolutions by the names of their nodes."""
    model = onnx_tool.Model(str(path), {"verbose": False})
    model.graph.shape_infer({spec.name: onnx_tool.create_ndarray_f32(spec.shape) for spec in inputs})
    model.graph.profile()
    return {
        name: int(node.macs[0] if isinstance(node.macs, list) else node.macs)
        for name, node in model.graph.nodemap.items()
        if node.op_type in PRODUCTS
    }


@pytest.mark.ci
@pytest.mark.parametrize("name", ["squeezenet", "resnet50", "densenet121"])
def test_products_cost_what_onnx_tool_says_which_counts_a_bias_as_multiply_accumulates(name):
    path = LIGHT / f"light_{name}.onnx"
    inputs = read(path).inputs
    ours = [node for node in cost_of_file(path, inputs).nodes if node.op_type in PRODUCTS]
    theirs = counted_by_onnx_tool(path, inputs)
    assert len(theirs) == len(ours)
    # a multiply-accumulate for each output that a bias is added to, which is one other operation here
    assert {node.name: node.macs + node.flops - 2 * node.macs for node in ours} == theirs
