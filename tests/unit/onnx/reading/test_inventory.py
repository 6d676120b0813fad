"""What a file is said to hold is what was put into it."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import NAMES
from irbench.onnx.reading.inventory import take_inventory


def save(path, nodes, initializers=(), functions=()):
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [value], [result], list(initializers))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 2)]
    model = helper.make_model(
        graph, opset_imports=opsets, functions=list(functions), producer_name="somebody", producer_version="3"
    )
    save_model(model, path)
    return path


def test_nodes_weights_and_origin_are_told(tmp_path):
    weights = [
        numpy_helper.from_array(np.ones((4, 3), np.float32), "w"),
        numpy_helper.from_array(np.array([1, -1], np.int64), "shape"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        helper.make_node("Reshape", ["a", "shape"], ["b"], name="flat"),
        helper.make_node("Relu", ["b"], ["y"], name="rectified", domain="own"),
    ]
    found = take_inventory(save(tmp_path / "m.onnx", nodes, weights))
    assert found.producer == "somebody 3"
    assert found.opsets == {"ai.onnx": 18, "own": 2}
    assert [(node.name, node.operator) for node in found.nodes] == [
        ("product", "MatMul"), ("flat", "Reshape"), ("rectified", "own.Relu"),
    ]  # fmt: skip
    assert found.nodes[0].inputs == ("x", "w")
    assert found.nodes[0].outputs == ("a",)
    assert found.operators == {"MatMul": 1, "Reshape": 1, "own.Relu": 1}
    assert found.weights_bytes == {"float32": 48, "int64": 16}


def test_a_node_without_a_name_is_called_after_its_output(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Tanh", ["a"], ["y"], name="bounded")]
    found = take_inventory(save(tmp_path / "m.onnx", nodes))
    assert [node.label for node in found.nodes] == ["Relu of a", "bounded"]


def test_sizes_and_axes_are_no_parameters(tmp_path):
    weights = [
        numpy_helper.from_array(np.ones((4, 3), np.float32), "w"),
        numpy_helper.from_array(np.array([1, -1], np.int64), "shape"),
    ]
    assert take_inventory(save(tmp_path / "m.onnx", [], weights)).parameters == 12


def test_four_bit_weights_take_half_a_byte(tmp_path):
    weight = helper.make_tensor("w", TensorProto.INT4, [3, 3], [1] * 9)
    found = take_inventory(save(tmp_path / "m.onnx", [], [weight]))
    assert found.weights_bytes == {"int4": 5}


def test_the_inner_graphs_of_a_node_are_counted_and_marked(tmp_path):
    value = helper.make_tensor("v", TensorProto.FLOAT, [2], [1.0, 2.0])
    then = helper.make_graph([helper.make_node("Constant", [], ["t"], name="inside", value=value)], "then", [], [])
    node = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=then)
    found = take_inventory(save(tmp_path / "m.onnx", [node]))
    assert [(item.name, item.inner) for item in found.nodes] == [("choice", False), ("inside", True), ("inside", True)]
    assert found.parameters == 4


def test_the_bodies_of_functions_are_counted(tmp_path):
    function = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"], name="sum")],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    nodes = [helper.make_node("Twice", ["x"], ["y"], name="call", domain="own")]
    found = take_inventory(save(tmp_path / "m.onnx", nodes, functions=[function]))
    assert [(node.operator, node.inner) for node in found.nodes] == [("own.Twice", False), ("Add", True)]


def test_external_weights_are_counted_without_their_file(tmp_path):
    weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="nowhere.bin")
    (found,) = take_inventory(save(tmp_path / "m.onnx", [], [weight])).weights
    assert found.external
    assert found.size_bytes == 48


@pytest.mark.parametrize("content", [b"", b"\xff\xff\xff", b"<html>"])
def test_a_file_that_is_no_model_is_refused(tmp_path, content):
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(IrbenchError):
        take_inventory(tmp_path / "m.onnx")


def test_every_type_that_onnx_knows_has_a_name():
    known = {number: name.lower() for name, number in TensorProto.DataType.items()}
    renamed = {"float": "float32", "double": "float64"}
    assert {number: renamed.get(name, name) for number, name in known.items()} == dict(NAMES)
