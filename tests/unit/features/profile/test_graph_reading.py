"""Nodes of an ONNX file: names, shapes, classes and work."""

from __future__ import annotations

from pathlib import Path

import models
import onnx
from onnx import TensorProto, helper

from irbench.cost_model.counting import model_cost
from irbench.features.profile.graph_reading import read_graph
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.inventory import take_inventory
from irbench.spec import TensorSpec
from irbench.spi.profiling import TensorShape


def test_nodes_have_their_names_shapes_classes_and_work(tmp_path: Path) -> None:
    artifact = models.mlp(tmp_path)
    nodes = read_graph(artifact.path, [spec.bind({"batch": 2}) for spec in artifact.inputs])
    assert [node.name for node in nodes] == ["conv", "relu", "pool", "flatten", "dense_layer", "softmax"]
    conv = nodes[0]
    assert (conv.op_type, conv.operator_class) == ("Conv", OperatorClass.MATRIX)
    assert conv.shapes == (TensorShape("float32", (2, 8, 8, 8)),)
    assert (conv.inputs[0], conv.outputs) == ("pixels", ("convolved",))
    assert conv.flops is not None
    assert conv.flops >= 2 * 2 * 8 * 8 * 8 * 27


def test_nodes_without_names_are_called_alike_by_the_profile_the_cost_model_and_the_inventory(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    nodes = [
        helper.make_node("Sink", ["x"], [], domain="own"),
        helper.make_node("Split", ["x"], ["", "late"], domain="own"),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("own", 1)]
    path = tmp_path / "sink.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=opsets), path)
    specs = [TensorSpec("x", "float32", (2,))]
    labels = ["Sink of nothing", "Split of nothing", "Relu of y"]
    assert [node.name for node in read_graph(path, specs)] == labels
    assert [node.name for node in model_cost(onnx.load(path), specs).nodes] == labels
    assert [node.label for node in take_inventory(path).nodes] == labels


def test_nodes_of_bodies_are_among_them_and_nodes_without_names_are_called_by_their_output(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    body = [
        helper.make_graph([helper.make_node(kind, ["x"], [f"{kind}_y"])], kind, [], [
            helper.make_tensor_value_info(f"{kind}_y", TensorProto.FLOAT, [2])
        ])
        for kind in ("Relu", "Neg")
    ]  # fmt: skip
    choice = helper.make_node("If", ["c"], ["y"], "choice", then_branch=body[0], else_branch=body[1])
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
    ]
    path = tmp_path / "if.onnx"
    onnx.save(helper.make_model(helper.make_graph([choice], "g", inputs, [value])), path)
    nodes = read_graph(path, [TensorSpec("c", "bool", ()), TensorSpec("x", "float32", (2,))])
    assert next(node.name for node in nodes) == "choice"
    assert {node.name for node in nodes} == {"choice", "Relu of Relu_y", "Neg of Neg_y"}
