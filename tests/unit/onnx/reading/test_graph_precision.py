"""A graph's precision is told from everything it holds."""

from __future__ import annotations

from pathlib import Path

import models
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from irbench.errors import IrbenchError
from irbench.onnx.reading.graph_precision import GraphPrecision, read_precision
from irbench.onnx.reading.protobuf import Attribute, GraphField, Model, Node, encode_length_delimited


def written(folder: Path, nodes: list[onnx.NodeProto], *initialisers: onnx.TensorProto, functions=()) -> Path:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
        initialisers,
    )
    model = helper.make_model(graph, functions=functions, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, folder / "graph.onnx")
    return folder / "graph.onnx"


def test_weights_are_counted_by_precision(tmp_path: Path):
    found = read_precision(models.mlp(tmp_path).path)
    assert found == GraphPrecision({"fp32": 8 * 3 * 9 + 8 + 128 * 5 + 5}, frozenset({"fp32"}), quantised=False)
    assert found.narrowest == found.dominant == "fp32"


def test_a_converted_graph_is_told_by_its_weights(tmp_path: Path):
    assert read_precision(models.mlp(tmp_path, "float16").path).narrowest == "fp16"


def test_a_graph_that_keeps_its_inputs_but_not_its_weights_is_converted(tmp_path: Path):
    nodes = [
        helper.make_node("Cast", ["x"], ["narrow"], to=TensorProto.BFLOAT16),
        helper.make_node("MatMul", ["narrow", "w"], ["product"]),
        helper.make_node("Cast", ["product"], ["y"], to=TensorProto.FLOAT),
    ]
    path = written(tmp_path, nodes, helper.make_tensor("w", TensorProto.BFLOAT16, [2, 2], [1, 2, 3, 4]))
    assert read_precision(path) == GraphPrecision({"bf16": 4}, frozenset({"fp32", "bf16"}), quantised=False)


def test_a_cast_deep_inside_a_branch_is_seen(tmp_path: Path):
    branch = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["narrow"], to=TensorProto.FLOAT16),
            helper.make_node("Cast", ["narrow"], ["out"], to=TensorProto.FLOAT),
        ],
        "branch",
        [],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 2])],
    )
    node = helper.make_node("If", ["condition"], ["y"], then_branch=branch, else_branch=branch)
    path = written(tmp_path, [node], numpy_helper.from_array(np.array(True), "condition"))
    assert read_precision(path).narrowest == "fp16"


def test_a_constant_inside_a_function_is_seen(tmp_path: Path):
    constant = helper.make_node(
        "Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.FLOAT16, [3], [1, 2, 3])
    )
    function = helper.make_function(
        "local",
        "F",
        ["a"],
        ["b"],
        [constant, helper.make_node("Identity", ["a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    path = written(tmp_path, [helper.make_node("F", ["x"], ["y"], domain="local")], functions=[function])
    assert read_precision(path).weights == {"fp16": 3}


@pytest.mark.parametrize("op", ["DequantizeLinear", "QLinearConv", "MatMulInteger"])
def test_integer_arithmetic_is_called_int8_whatever_else_floats(tmp_path: Path, op: str):
    path = written(tmp_path, [helper.make_node(op, ["x"], ["y"])], numpy_helper.from_array(np.ones(4, np.float32), "w"))
    found = read_precision(path)
    assert found.narrowest == found.dominant == "int8"


def test_integer_attributes_of_a_cast_that_name_no_type_are_not_taken_for_one(tmp_path: Path):
    node = helper.make_node("Cast", ["x"], ["y"], saturate=10, to=TensorProto.FLOAT)
    assert read_precision(written(tmp_path, [node])).narrowest == "fp32"


def test_the_dominant_precision_is_that_of_most_weights():
    assert GraphPrecision({"fp16": 10, "fp32": 1000}, frozenset(), quantised=False).dominant == "fp32"
    assert GraphPrecision({"fp16": 10, "fp32": 1000}, frozenset(), quantised=False).narrowest == "fp16"
    assert GraphPrecision({}, frozenset({"fp64"}), quantised=False).dominant == "fp64"


def test_a_file_that_is_no_model_is_told_so(tmp_path: Path):
    (tmp_path / "text.onnx").write_text("weights go here, one day")
    with pytest.raises(IrbenchError, match="is a text file"):
        read_precision(tmp_path / "text.onnx")
    with pytest.raises(IrbenchError, match="There is no file"):
        read_precision(tmp_path / "missing.onnx")
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(IrbenchError, match="is empty"):
        read_precision(tmp_path / "empty.onnx")


def test_graphs_nested_without_end_are_told_to_be_no_model(tmp_path: Path):
    nested = b""
    for _ in range(3000):
        attribute = encode_length_delimited(Attribute.GRAPH, len(nested)) + nested
        node = encode_length_delimited(Node.ATTRIBUTE, len(attribute)) + attribute
        nested = encode_length_delimited(GraphField.NODE, len(node)) + node
    (tmp_path / "deep.onnx").write_bytes(encode_length_delimited(Model.GRAPH, len(nested)) + nested)
    with pytest.raises(IrbenchError, match="not an ONNX model"):
        read_precision(tmp_path / "deep.onnx")


def test_weights_that_are_only_stored_in_a_narrow_type_do_not_make_the_graph_narrow(tmp_path: Path):
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
    ]
    stored = numpy_helper.from_array(np.ones((2, 2), np.float16), "w")
    found = read_precision(written(tmp_path, nodes, stored))
    assert (found.narrowest, found.dominant) == ("fp32", "fp32")


def test_weights_that_something_else_reads_as_well_do(tmp_path: Path):
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
        helper.make_node("MatMul", ["w", "w"], ["unused"]),
    ]
    stored = numpy_helper.from_array(np.ones((2, 2), np.float16), "w")
    assert read_precision(written(tmp_path, nodes, stored)).narrowest == "fp16"


def test_weights_that_are_widened_before_they_are_multiplied_count_as_what_is_multiplied(tmp_path: Path):
    nodes = [
        helper.make_node("Cast", ["w"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16),
        helper.make_node("Add", ["half", "b"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["back"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["back", "wide"], ["y"]),
    ]
    stored = [numpy_helper.from_array(np.ones(shape, np.float16), name) for name, shape in (("w", (2, 2)), ("b", 2))]
    found = read_precision(written(tmp_path, nodes, *stored))
    assert found.weights == {"fp32": 4, "fp16": 2}
    assert found.dominant == "fp32"


def test_a_table_that_rows_are_gathered_from_does_not_outweigh_what_is_multiplied(tmp_path: Path):
    nodes = [
        helper.make_node("Gather", ["table", "rows"], ["half"]),
        helper.make_node("Cast", ["half"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["wide", "w"], ["y"]),
    ]
    table = numpy_helper.from_array(np.ones((50, 2), np.float16), "table")
    weight = numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    rows = numpy_helper.from_array(np.array([0, 1]), "rows")
    assert read_precision(written(tmp_path, nodes, table, weight, rows)).dominant == "fp32"
    assert read_precision(written(tmp_path, nodes[:2], table, rows)).dominant == "fp16"
