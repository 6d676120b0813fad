"""Nodes of an optimised graph stand for the exported nodes whose place they took."""

from __future__ import annotations

from dataclasses import replace

from profiles import NODES, node

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.origins import origins

MATRIX = OperatorClass.MATRIX
CONV, RELU, TRANSPOSE, DENSE, SOFTMAX = NODES


def test_a_node_that_kept_its_name_stands_for_itself() -> None:
    assert origins(NODES, NODES) == {each.name: (each.name,) for each in NODES}


def test_a_new_node_stands_for_all_between_its_outputs_and_its_inputs() -> None:
    fused = replace(node("fused", "FusedConv", MATRIX, reads=["x"]), outputs=("block/relu:0",))
    assert origins([fused, TRANSPOSE], NODES)["fused"] == ("block/conv", "block/relu")


def test_a_node_that_kept_its_name_and_took_in_the_next_one_stands_for_both() -> None:
    widened = replace(CONV, outputs=("block/relu:0",))
    assert origins([widened, TRANSPOSE, DENSE, SOFTMAX], NODES)["block/conv"] == ("block/conv", "block/relu")


def test_what_other_nodes_of_the_optimised_graph_still_compute_is_not_claimed() -> None:
    fused = replace(node("fused", "X", MATRIX, reads=["elsewhere"]), outputs=("head/dense:0",))
    assert origins([CONV, RELU, fused], NODES)["fused"] == ("block/transpose", "head/dense")


def test_a_node_whose_tensors_are_all_new_stands_for_itself() -> None:
    assert origins([node("made", "Cast", OperatorClass.MOVEMENT)], NODES) == {"made": ("made",)}
