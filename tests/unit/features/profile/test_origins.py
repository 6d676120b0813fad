"""Nodes of an optimised graph stand for the exported nodes whose place they took."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.features.profile.joining import origins
from irbench.onnx.reading.inventory import Inventory, NodeEntry


def node(name: str, reads: Sequence[str], makes: str | None = None, op_type: str = "Relu") -> NodeEntry:
    return NodeEntry(name, op_type, "", tuple(reads), (makes or f"{name}:0",))


def graph(*nodes: NodeEntry) -> Inventory:
    return Inventory(opsets={}, nodes=nodes, weights=())


CONV, RELU, POOL = node("conv", ["x", "w"]), node("relu", ["conv:0"]), node("pool", ["relu:0"])
EXPORTED = graph(CONV, RELU, POOL)


def found(*optimized: NodeEntry) -> dict[str, tuple[str, ...]]:
    return dict(origins(graph(*optimized), EXPORTED))


def test_a_node_that_kept_its_name_stands_for_itself() -> None:
    assert found(CONV, RELU, POOL) == {"conv": ("conv",), "relu": ("relu",), "pool": ("pool",)}


def test_a_new_node_stands_for_all_between_its_outputs_and_the_nodes_before() -> None:
    assert found(node("fused", ["x"], "relu:0"), POOL)["fused"] == ("conv", "relu")


def test_a_node_that_kept_its_name_and_took_in_the_next_one_stands_for_both() -> None:
    assert found(node("conv", ["x"], "relu:0"), POOL)["conv"] == ("conv", "relu")


def test_what_another_node_of_the_optimised_graph_computes_is_not_claimed() -> None:
    assert found(CONV, node("fused", ["conv:0"], "pool:0"))["fused"] == ("relu", "pool")


def test_a_tensor_to_whose_name_something_was_added_is_the_same() -> None:
    assert found(node("fused", ["x"], "relu:0_matmul_reshape"), POOL)["fused"] == ("conv", "relu")


def test_of_two_nodes_that_took_the_place_of_the_same_ones_both_belong_to_them() -> None:
    first, second = node("a", ["x"], "relu:0_a"), node("b", ["relu:0_a"], "relu:0_b")
    assert found(first, second) == {"a": ("conv", "relu"), "b": ("relu",)}


def test_a_node_whose_tensors_are_all_new_stands_for_nothing() -> None:
    assert found(node("made", ["x"], "y")) == {}
