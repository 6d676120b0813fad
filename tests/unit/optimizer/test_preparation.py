"""Bringing a graph into the form that passes expect."""

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from irbench.optimizer.pipeline import raised

SHAPE = [2, 4, 6, 1]


def written(folder: Path, *nodes: onnx.NodeProto) -> Path:
    """Write a graph of opset 18 from ``x`` to ``y``."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE if name == "x" else None) for name in "xy")
    model = helper.make_model(
        helper.make_graph(list(nodes), "graph", [x], [y]), ir_version=9, opset_imports=[helper.make_opsetid("", 18)]
    )
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def opset_of(path: Path) -> int:
    return next(entry.version for entry in onnx.load(path).opset_import if not entry.domain)


def test_a_graph_is_moved_to_a_later_operator_set(tmp_path: Path):
    assert opset_of(raised(written(tmp_path, helper.make_node("Relu", ["x"], ["y"])), 20, tmp_path)) == 20
