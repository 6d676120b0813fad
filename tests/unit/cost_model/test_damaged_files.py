"""Files that hold what no exporter writes are refused, or counted as far as that goes."""

from __future__ import annotations

import contextlib
import random

import onnx
import pytest
from written_graphs import graph, ones

from irbench.cost_model.counting import cost_of_file, model_cost
from irbench.errors import IrbenchError
from irbench.spec import TensorSpec

TEXT = (
    "(float[2,4,8] x) => (y) { s = Shape (x)  r = Reshape (x, s)  q = MatMul (r, w)  g = com.microsoft.BiasGelu (q, b)"
    "  y = Softmax (g) }"
)
INPUTS = [TensorSpec("x", "float32", (2, 4, 8))]


@pytest.mark.ci
@pytest.mark.parametrize("seed", range(8))
def test_a_file_with_changed_bytes_is_refused_or_counted(seed, tmp_path):
    whole = graph(TEXT, w=ones(8, 8), b=ones(8)).SerializeToString()
    draw = random.Random(seed)
    for _ in range(40):
        changed = bytearray(whole)
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        (tmp_path / "m.onnx").write_bytes(changed)
        with contextlib.suppress(IrbenchError):  # and nothing else
            assert cost_of_file(tmp_path / "m.onnx", INPUTS).macs >= 0


def test_names_that_are_no_text_are_shown_as_far_as_they_are():
    changed = graph(TEXT, w=ones(8, 8), b=ones(8)).SerializeToString().replace(b"Softmax", b"Soft\xffax")
    cost = model_cost(onnx.ModelProto.FromString(changed), INPUTS)
    assert cost.nodes[-1].operator == "Soft\ufffdax"
    assert [node.reason for node in cost.uncounted] == ["no-rule"]


def test_an_attribute_of_a_wrong_type_is_no_shape():
    model = graph("(float[1,3,8,8] x) => (y) { y = MaxPool <kernel_shape = [2, 2]> (x) }")
    model.graph.node[0].attribute[0].CopyFrom(onnx.helper.make_attribute("kernel_shape", "wide"))
    (node,) = model_cost(model, [TensorSpec("x", "float32", (1, 3, 8, 8))]).nodes
    assert node.flops is None
