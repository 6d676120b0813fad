"""Collecting the suite: what a case tests, and which cases irbench cannot run."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from irbench.features.verify.collect import operator_of, unfit

TENSOR = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
SEQUENCE = helper.make_sequence_type_proto(TENSOR)
OPTIONAL = helper.make_optional_type_proto(TENSOR)


def graph(*operators: str, given: onnx.TypeProto = TENSOR, made: onnx.TypeProto = TENSOR) -> onnx.GraphProto:
    nodes = [
        helper.make_node(operator.split(".")[-1], ["x"], ["y"], domain=".".join(operator.split(".")[:-1]))
        for operator in operators
    ]
    return helper.make_graph(
        nodes, "g", [helper.make_value_info("x", given)], [helper.make_value_info("y", made)]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operators", "name"),
    [
        (("Add",), "Add"),
        (("Constant", "Add"), "Add"),
        (("Add", "Relu"), "several"),
        (("ai.onnx.ml.Normalizer",), "ai.onnx.ml.Normalizer"),
    ],
)
def test_a_graph_is_called_after_its_one_operator(operators: tuple[str, ...], name: str):
    assert operator_of(graph(*operators)) == name


def test_tensors_and_sequences_and_optionals_can_be_compared():
    assert [unfit(graph("Add", made=item)) for item in (TENSOR, SEQUENCE, OPTIONAL)] == ["", "", ""]


def test_an_input_that_is_no_tensor_is_skipped_by_name():
    assert unfit(graph("SequenceAt", given=SEQUENCE)) == "its input 'x' is no tensor: sequence"
    assert unfit(graph("OptionalGetElement", given=OPTIONAL)) == "its input 'x' is no tensor: optional"
