"""The shapes of all values of a graph, for inputs of given shapes."""

from __future__ import annotations

import models
import onnx
import pytest
from onnx import helper

from irbench.onnx.reading import value_shapes
from irbench.onnx.reading.value_shapes import inferred_at, shapes_of_file
from irbench.spec import TensorSpec


def test_each_value_has_its_operator_type_and_shape_in_the_order_of_the_nodes(tmp_path):
    artifact = models.mlp(tmp_path)
    found = shapes_of_file(artifact.path, [spec.bind({"batch": 2}) for spec in artifact.inputs])
    assert [value.operator for value in found] == [node.op_type for node in onnx.load(artifact.path).graph.node]
    assert (found[0].name, found[0].dtype, found[0].shape) == ("convolved", "float32", (2, 8, 8, 8))
    assert found[-1].shape == (2, 5)


def test_what_stays_dynamic_keeps_its_name_and_two_unknown_sizes_stay_two(tmp_path):
    value = onnx.helper.make_tensor_value_info
    given, made = value("x", 1, [-1, "?", "?"]), value("y", 1, ["?", "?", "?"])
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [given], [made])), tmp_path / "m.onnx")
    (found,) = shapes_of_file(tmp_path / "m.onnx", [TensorSpec("x", "float32", (2, "x_1", "x_2"))])
    assert found.shape == (2, "x_1", "x_2")


def choices(count):
    """A row of nodes that have two bodies each."""
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node(
            "If", ["c"], [f"v{place + 1}"],
            **{
                branch: helper.make_graph(
                    [helper.make_node("Relu", [f"v{place}"], [f"{branch}{place}"])], branch, [],
                    [value(f"{branch}{place}", 1, [1, 4])],
                )
                for branch in ("then_branch", "else_branch")
            },
        )
        for place in range(count)
    ]  # fmt: skip
    inputs = [value("v0", 1, [1, 4]), value("c", onnx.TensorProto.BOOL, [])]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, [value(f"v{count}", 1, [1, 4])]))


def test_shapes_are_not_inferred_where_bodies_and_values_would_be_copied_for_minutes(monkeypatch):
    inputs = [TensorSpec("v0", "float32", (1, 4)), TensorSpec("c", "bool", ())]
    assert len(inferred_at(choices(5), inputs).graph.value_info) == 4
    monkeypatch.setattr(value_shapes, "MOST_COPIES", 49)
    with pytest.raises(onnx.shape_inference.InferenceError, match="10 bodies in a graph of 5 nodes"):
        inferred_at(choices(5), inputs)
