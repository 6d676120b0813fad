"""Operators belong to the class of the nodes which they compute."""

from __future__ import annotations

from dataclasses import replace

from profiles import NODES, node, operator

from irbench.features.profile.joining import class_of, class_of_kind, main_node
from irbench.onnx.operator_classes import OperatorClass

CONV, RELU, TRANSPOSE, _, _ = NODES


def test_a_fused_operator_is_a_convolution_whatever_else_it_computes() -> None:
    costly = replace(RELU, flops=10**12)
    assert class_of(operator("a", "X"), [costly, CONV], {}) is OperatorClass.MATRIX


def test_of_other_classes_the_one_with_the_most_work_decides() -> None:
    small = node("n", "Add", OperatorClass.ELEMENTWISE, flops=10)
    large = node("m", "ReduceMean", OperatorClass.REDUCTION, flops=100)
    assert main_node([small, large]).op_type == "ReduceMean"
    assert main_node([small, small, large]).op_type == "ReduceMean"


def test_data_movement_comes_last_where_no_work_is_known() -> None:
    assert main_node([TRANSPOSE, replace(RELU, flops=None)]).op_type == "Relu"


def test_the_runtimes_own_work_is_overhead_also_where_its_type_is_that_of_a_node() -> None:
    assert class_of(operator("a", "Conv", is_overhead=True), [], {}) is OperatorClass.OVERHEAD


def test_without_nodes_the_runtimes_table_decides_before_the_names_of_onnx() -> None:
    kinds = {"Convert": OperatorClass.MOVEMENT, "Relu": OperatorClass.OTHER}
    assert class_of_kind("Convert", kinds) is OperatorClass.MOVEMENT
    assert class_of_kind("Relu", kinds) is OperatorClass.OTHER
    assert class_of_kind("Softmax", kinds) is OperatorClass.NORMALISATION
    assert class_of_kind("FusedMatMul", kinds) is OperatorClass.MATRIX
    assert class_of_kind("whatever", kinds) is OperatorClass.OTHER
