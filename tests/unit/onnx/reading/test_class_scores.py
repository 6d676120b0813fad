"""Outputs with scores of classes are known by the operators that compute them."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from irbench.onnx.reading.class_scores import class_scores, known_class_outputs


def model(
    nodes: list[onnx.NodeProto], *outputs: str, shape: tuple[int | str, ...] = ("N", 10), opset: int = 17
) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in outputs]
    graph = helper.make_graph(nodes, "model", given, made)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=imports)


def node(operator: str, given: str, made: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(operator, [given], [made], **attributes)


@pytest.mark.parametrize("between", ["Cast", "Reshape", "Identity"])
def test_a_softmax_at_the_end_gives_scores_whatever_only_moves_them(between: str) -> None:
    made = model([node("Softmax", "x", "p"), node(between, "p", "label"), node("ArgMax", "p", "best")], "label")
    assert class_scores(made) == (True,)


def test_each_output_is_judged_for_itself_whatever_their_order() -> None:
    nodes = [node("Neg", "x", "box"), node("LogSoftmax", "x", "label"), node("Sigmoid", "x", "mask")]
    assert class_scores(model(nodes, "box", "label", "mask")) == (None, True, False)
    assert class_scores(model(nodes, "mask", "label")) == (False, True)


def test_weights_of_attention_and_experts_are_no_scores() -> None:
    nodes = [
        node("Softmax", "x", "weights"),
        node("Identity", "weights", "shown"),
        helper.make_node("Mul", ["weights", "x"], ["y"]),
    ]
    assert class_scores(model(nodes, "weights", "shown", "y")) == (False, False, None)


@pytest.mark.parametrize(
    ("axis", "opset", "has_classes"),
    [({}, 17, True), ({}, 11, False), ({"axis": 1}, 17, False), ({"axis": 2}, 11, True)],
)
def test_scores_lie_along_the_last_axis(axis: dict[str, int], opset: int, has_classes: bool) -> None:
    made = model([node("Softmax", "x", "label", **axis)], "label", shape=("N", 5, 7), opset=opset)
    assert class_scores(made) == (has_classes,)


@pytest.mark.parametrize("shape", [("N", 1), ("N",)])
def test_a_single_number_is_no_score_of_a_class(shape: tuple[int | str, ...]) -> None:
    assert class_scores(model([node("Softmax", "x", "label")], "label", shape=shape)) == (False,)


def test_integers_and_outputs_that_are_inputs_are_not_taken_for_scores() -> None:
    made = model([node("ArgMax", "x", "best")], "x", "best")
    made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    assert class_scores(made) == (None, False)


def test_the_second_output_of_a_classifier_of_machine_learning_has_the_scores() -> None:
    classifier = helper.make_node("LinearClassifier", ["x"], ["best", "raw"], domain="ai.onnx.ml", coefficients=[1.0])
    made = model([classifier, node("Normalizer", "raw", "scores")], "best", "scores")
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    assert class_scores(made) == (False, True)


@pytest.mark.parametrize(
    ("evidence", "known"),
    [((None, True), (1,)), ((False, False), ()), ((None, False), None), ((True, True), (0, 1)), ((), ())],
)
def test_one_output_that_is_known_is_enough(evidence: tuple[bool | None, ...], known: tuple[int, ...] | None) -> None:
    assert known_class_outputs(evidence) == known
