"""Which nodes lie between the tensors of an operator that a runtime made."""

from __future__ import annotations

from irbench.onnx.reading.counterparts import ContainedNodes
from irbench.onnx.reading.inventory import NodeEntry


def node(op_type: str, inputs: str, outputs: str, name: str = "") -> NodeEntry:
    return NodeEntry(name, op_type, "", tuple(inputs.split()), tuple(outputs.split()))


CHAIN = (
    node("Conv", "image kernel", "convolved", "conv"),
    node("Relu", "convolved", "positive"),
    node("Shape", "positive", "sizes", "shape"),
    node("Reshape", "positive sizes", "flat", "reshape"),
    node("Transpose", "weights", "turned", "turn"),
    node("MatMul", "flat turned", "product", "product"),
)


def test_an_operator_contains_what_leads_to_its_output_since_the_one_before():
    graph = ContainedNodes(CHAIN, weights=["kernel", "weights"])
    assert graph.claim(["positive"]) == ("conv", "Relu of positive")
    assert graph.claim(["product"]) == ("reshape", "product")


def test_what_is_folded_when_compiling_is_in_no_operator_unless_it_is_one_itself():
    graph = ContainedNodes(CHAIN, weights=["kernel", "weights"])
    assert graph.claim(["turned"]) == ("turn",)
    assert graph.claim(["product"]) == ("conv", "Relu of positive", "reshape", "product")


def test_a_node_that_is_an_operator_of_its_own_is_part_of_no_other():
    graph = ContainedNodes(CHAIN, weights=["kernel", "weights"], kept={"reshape"})
    assert graph.claim(["product"]) == ("product",)
    assert graph.claim(["flat"]) == ("conv", "Relu of positive", "reshape")


def test_nothing_is_claimed_twice_and_unknown_tensors_are_ignored():
    graph = ContainedNodes(CHAIN)
    assert graph.claim(["positive"])
    assert graph.claim(["positive", "blocked"]) == ()


def test_a_node_can_be_claimed_by_its_label_where_its_outputs_have_other_names():
    graph = ContainedNodes(CHAIN)
    assert graph.claim(["blocked"], "conv") == ("conv",)


def test_neighbours_are_found_through_tensors():
    graph = ContainedNodes(CHAIN)
    assert graph.maker("positive") == CHAIN[1]
    assert graph.maker("image") is None
    assert graph.only_user("convolved") == CHAIN[1]
    assert graph.only_user("positive") is None
