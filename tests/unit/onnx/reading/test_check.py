"""Files that runtimes run are accepted, also with operators that ONNX Runtime adds to ONNX's own domain."""

from __future__ import annotations

from pathlib import Path

import genai_graphs
import onnx
import pytest
from onnx import TensorProto, helper

from irbench.errors import IrbenchError
from irbench.onnx.contributed.own_domain import is_contributed
from irbench.onnx.reading.check import examine


def written(path: Path, operator: str, opset: int, scales: int = 1) -> Path:
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x", "y")}
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [4], [1.0] * 4)
    node = helper.make_node(operator, ["x", *["scale"] * scales], ["y"])
    graph = helper.make_graph([node], "graph", [values["x"]], [values["y"]], [scale])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
    onnx.save(model, path)
    return path


def test_a_decoder_of_the_builders_of_onnxruntime_genai_is_accepted(tmp_path: Path) -> None:
    genai_graphs.write_decoder(tmp_path / "decoder.onnx")
    found, outside_bytes, draws, class_axes = examine(tmp_path / "decoder.onnx")
    assert (found.opset, outside_bytes, draws.operators) == (14, 0, ())
    assert class_axes is None  # logits
    assert found.inputs[1].shape == ("batch", "total_sequence_length")


@pytest.mark.parametrize("operator", ["SimplifiedLayerNormalization", "LayerNormalization"])
def test_an_operator_that_onnx_runtime_registers_in_onnxs_domain_is_accepted(tmp_path: Path, operator: str) -> None:
    assert examine(written(tmp_path / "graph.onnx", operator, 14))[0].nodes == 1


@pytest.mark.parametrize(("operator", "opset"), [("SimplifiedNormalisation", 14), ("RMSNormalization", 14)])
def test_an_operator_that_nobody_registers_is_refused(tmp_path: Path, operator: str, opset: int) -> None:
    with pytest.raises(IrbenchError, match="is not a valid ONNX model"):
        examine(written(tmp_path / "graph.onnx", operator, opset))


def test_an_operator_is_onnxs_own_from_the_operator_set_that_defines_it() -> None:
    assert is_contributed("", "LayerNormalization", 16)
    assert not is_contributed("", "LayerNormalization", 17)
    assert is_contributed("ai.onnx", "SimplifiedLayerNormalization", 23)
    assert not is_contributed("com.microsoft", "SimplifiedLayerNormalization", 14)
