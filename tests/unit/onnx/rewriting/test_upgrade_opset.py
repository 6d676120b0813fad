"""Graphs that are not moved to a later operator set."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from irbench.onnx.rewriting.detached_weights import detach
from irbench.onnx.rewriting.upgrade_opset import AxisOfDft, upgrade_opset

SPECTRUM = "float[2,4,6,1] x) => (float[2,4,6,2] y)"
BRANCHES = """
    y = If (taken) <
        then_branch = then () => (t) { t = DFT <axis = 2> (x) },
        else_branch = other () => (e) { e = Concat <axis = 3> (x, x) }
    >
"""
GRAPHS = {
    "a graph": f"g ({SPECTRUM} {{ y = DFT <axis = 2> (x) }}",
    "a branch": f"g (bool taken, {SPECTRUM} {{ {BRANCHES} }}",
    "a function": f"g ({SPECTRUM} {{ y = own.Spectrum (x) }}\n"
    '<domain: "own", opset_import: ["": 18]> Spectrum (x) => (y) { y = DFT <axis = 2> (x) }',
}


def model(where: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 9, opset_import: ["": 18, "own": 1]> {GRAPHS[where]}')


@pytest.mark.parametrize("where", GRAPHS)
def test_a_fourier_transform_keeps_its_axis_an_attribute_in(where: str) -> None:
    with pytest.raises(AxisOfDft, match="from opset 18 to 20: OpenVINO ignores the axis of DFT") as caught:
        upgrade_opset(detach(model(where), {}), 20)
    assert caught.value.hint == "Use --opset 19."


def test_up_to_there_a_graph_with_a_fourier_transform_is_moved() -> None:
    assert upgrade_opset(detach(model("a graph"), {}), 19)
