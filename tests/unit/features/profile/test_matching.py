"""Executed operators find the nodes that they compute."""

from __future__ import annotations

from dataclasses import replace

import profiles
from profiles import NODES, SCORES, operator

from irbench.features.profile.joining import match_operators
from irbench.features.profile.record import OperatorProfile
from irbench.onnx.operator_classes import OperatorClass
from irbench.spi.profiling import TensorShape

KINDS = {"Reorder": OperatorClass.MOVEMENT, "FullyConnected": OperatorClass.MATRIX}


def matched(*operators: OperatorProfile) -> list[tuple[tuple[str, ...], str]]:
    found = match_operators(operators, NODES, KINDS)
    return [(tuple(NODES[place].name for place in match.nodes), match.matched_by) for match in found]


def test_nodes_that_a_runtime_names_are_found_and_kept_in_the_order_of_the_graph() -> None:
    assert matched(operator("a", "X", nodes=["block/relu", "block/conv"])) == [(("block/conv", "block/relu"), "name")]


def test_an_operator_that_tells_no_nodes_is_found_by_its_own_name_or_by_a_tensor() -> None:
    assert matched(operator("head/dense", "X"), operator("block/relu:0", "Y"), operator("head/softmax:0", "Z")) == [
        (("head/dense",), "name"),
        (("block/relu",), "tensor"),
        (("head/softmax",), "tensor"),
    ]


def test_an_operator_of_tensorflow_is_all_nodes_that_the_converter_made_of_it() -> None:
    nodes = (replace(NODES[0], name="conv__7"), replace(NODES[1], name="conv__9"), NODES[2])
    (found,) = match_operators((operator("conv", "Conv2D"),), nodes, KINDS)
    assert (found.nodes, found.matched_by) == ((0, 1), "name")


def test_an_operator_without_a_name_is_found_by_its_class_and_shape_between_its_neighbours() -> None:
    lost = operator("7", "FullyConnected", shape=SCORES)
    assert matched(operator("block/conv", "Conv"), lost)[1] == (("head/dense",), "signature")


def test_axes_may_be_in_another_order_and_sizes_of_one_added() -> None:
    other_layout = TensorShape("float32", (56, 56, 1, 64, 1))
    assert matched(operator("7", "Conv", shape=other_layout)) == [(("block/conv",), "signature")]


def test_a_shape_of_another_size_is_no_match() -> None:
    assert matched(operator("7", "Conv", shape=TensorShape("float32", (1, 3)))) == [((), "unmatched")]


def test_operators_are_aligned_in_order_and_no_node_is_given_away_twice() -> None:
    first, second = operator("1", "Conv"), operator("2", "Conv")
    assert matched(first, second)[0][1] == "signature"
    assert sorted(way for _, way in matched(first, second)) == ["signature", "unmatched"]


def test_a_reorder_is_the_runtimes_and_no_transpose_of_the_graph() -> None:
    assert matched(operator("7", "Reorder"), operator("8", "Transpose")) == [
        ((), "inserted"),
        (("block/transpose",), "signature"),
    ]


def test_the_runtimes_own_work_computes_nothing_whatever_it_is_called() -> None:
    assert matched(operator("block/conv", "Conv", is_overhead=True)) == [((), "overhead")]


def test_an_operator_whose_nodes_are_of_another_graph_is_unmatched_and_not_inserted() -> None:
    assert matched(operator("a", "Reorder", nodes=["elsewhere"])) == [((), "unmatched")]


def test_every_operator_of_the_example_has_an_outcome() -> None:
    for cell in profiles.example().cells:
        assert len(match_operators(cell.operators, NODES, KINDS)) == len(cell.operators)


def test_a_name_alone_makes_no_addition_a_convolution() -> None:
    assert matched(operator("block/conv", "Add", shape=None)) == [((), "unmatched")]


def test_a_node_that_another_operator_claims_is_not_found_by_name_alone() -> None:
    claims = operator("fused", "Conv", nodes=["block/conv"])
    assert matched(claims, operator("block/conv", "Conv"))[1] == ((), "unmatched")
