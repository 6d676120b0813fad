"""Which nodes executed operators compute, of which class they are, and what graphs are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import models
import onnx
import profiles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from profiles import NODES, SCORES, node, operator

from irbench.cost_model.counting import model_cost
from irbench.features.profile import joining
from irbench.features.profile.joining import (
    aligned,
    class_of,
    class_of_kind,
    main_node,
    match_operators,
    origins,
    read_graph,
    with_products,
)
from irbench.features.profile.profile_document import OperatorProfile
from irbench.onnx.operator_classes import OperatorClass
from irbench.onnx.reading.inventory import Inventory, NodeEntry, take_inventory
from irbench.spec import TensorSpec
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


SHORT = st.text(alphabet="abc", max_size=7)


def longest(left: str, right: str) -> int:
    """Return the length of a longest common subsequence by trying all."""
    found = {"".join(part) for size in range(len(left) + 1) for part in combinations(left, size)}
    every = {"".join(part) for size in range(len(right) + 1) for part in combinations(right, size)}
    return max(map(len, found & every))


@given(SHORT, SHORT)
def test_an_alignment_is_common_ascending_and_as_long_as_can_be(left: str, right: str) -> None:
    pairs = aligned(left, right)
    assert all(left[first] == right[second] for first, second in pairs)
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
    assert len(pairs) == longest(left, right)


def test_what_is_unknown_is_equal_to_nothing() -> None:
    assert aligned([None, "a"], [None, "a"]) == ((1, 1),)


def test_sequences_of_nearly_equal_elements_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_PAIRS", 8)
    assert aligned("aaa", "aaa") == ()
    assert len(aligned("aba", "aca")) == 2


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


PRODUCT_KINDS = {"fusion": OperatorClass.ELEMENTWISE, "dot": OperatorClass.MATRIX}


def joined(*operators: OperatorProfile) -> list[tuple[tuple[str, ...], str]]:
    matches = with_products(operators, match_operators(operators, NODES, PRODUCT_KINDS), NODES, PRODUCT_KINDS)
    return [(tuple(NODES[place].name for place in match.nodes), match.matched_by) for match in matches]


def unnamed(name: str, kind: str = "dot") -> OperatorProfile:
    return operator(name, kind, shape=None)


def test_a_fusion_behind_a_product_without_a_name_gives_the_product_back() -> None:
    fusion = operator("f", "fusion", nodes=["block/conv", "block/relu"])
    assert joined(unnamed("7"), fusion) == [(("block/conv",), "position"), (("block/relu",), "name")]


def test_a_reshape_behind_a_product_gives_all_back() -> None:
    reshape = operator("r", "Reshape", nodes=["block/conv", "block/relu"])
    assert joined(unnamed("7", "Gemm"), reshape) == [(("block/conv", "block/relu"), "position"), ((), "inserted")]


def test_several_products_are_given_in_order_to_the_last_ones_that_wait() -> None:
    fusion = operator("f", "fusion", nodes=["block/conv", "head/dense"])
    assert joined(unnamed("1"), unnamed("2"), unnamed("3"), fusion) == [
        ((), "unmatched"),
        (("block/conv",), "position"),
        (("head/dense",), "position"),
        ((), "inserted"),
    ]


def test_a_product_that_has_its_nodes_keeps_them() -> None:
    conv = operator("c", "Conv", nodes=["block/conv", "block/relu"])
    assert joined(unnamed("7"), conv)[1] == (("block/conv", "block/relu"), "name")


def test_an_operator_of_unknown_kind_keeps_its_nodes_and_so_does_one_before_which_nobody_waits() -> None:
    strange = operator("s", "Strange", nodes=["block/conv"])
    fusion = operator("f", "fusion", nodes=["block/conv"])
    assert joined(unnamed("7"), strange)[1] == (("block/conv",), "name")
    assert joined(fusion) == [(("block/conv",), "name")]


def test_a_part_of_a_product_that_is_computed_gives_nothing_to_one_that_waits() -> None:
    conv = operator("c", "Conv", nodes=["block/conv"])
    bias = operator("b", "fusion", nodes=["block/conv"])
    assert joined(unnamed("7"), conv, bias) == [((), "unmatched"), (("block/conv",), "name"), (("block/conv",), "name")]


def test_nodes_have_their_names_shapes_classes_and_work(tmp_path: Path) -> None:
    artifact = models.mlp(tmp_path)
    nodes = read_graph(artifact.path, [spec.bind({"batch": 2}) for spec in artifact.inputs])
    assert [node.name for node in nodes] == ["conv", "relu", "pool", "flatten", "dense_layer", "softmax"]
    conv = nodes[0]
    assert (conv.op_type, conv.operator_class) == ("Conv", OperatorClass.MATRIX)
    assert conv.shapes == (TensorShape("float32", (2, 8, 8, 8)),)
    assert (conv.inputs[0], conv.outputs) == ("pixels", ("convolved",))
    assert conv.flops is not None
    assert conv.flops >= 2 * 2 * 8 * 8 * 8 * 27


def test_nodes_without_names_are_called_alike_by_the_profile_the_cost_model_and_the_inventory(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    nodes = [
        helper.make_node("Sink", ["x"], [], domain="own"),
        helper.make_node("Split", ["x"], ["", "late"], domain="own"),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("own", 1)]
    path = tmp_path / "sink.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=opsets), path)
    specs = [TensorSpec("x", "float32", (2,))]
    labels = ["Sink of nothing", "Split of nothing", "Relu of y"]
    assert [node.name for node in read_graph(path, specs)] == labels
    assert [node.name for node in model_cost(onnx.load(path), specs).nodes] == labels
    assert [node.label for node in take_inventory(path).nodes] == labels


def test_nodes_of_bodies_are_among_them_and_nodes_without_names_are_called_by_their_output(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    body = [
        helper.make_graph([helper.make_node(kind, ["x"], [f"{kind}_y"])], kind, [], [
            helper.make_tensor_value_info(f"{kind}_y", TensorProto.FLOAT, [2])
        ])
        for kind in ("Relu", "Neg")
    ]  # fmt: skip
    choice = helper.make_node("If", ["c"], ["y"], "choice", then_branch=body[0], else_branch=body[1])
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
    ]
    path = tmp_path / "if.onnx"
    onnx.save(helper.make_model(helper.make_graph([choice], "g", inputs, [value])), path)
    nodes = read_graph(path, [TensorSpec("c", "bool", ()), TensorSpec("x", "float32", (2,))])
    assert next(node.name for node in nodes) == "choice"
    assert {node.name for node in nodes} == {"choice", "Relu of Relu_y", "Neg of Neg_y"}


def entry(name: str, reads: Sequence[str], makes: str | None = None, op_type: str = "Relu") -> NodeEntry:
    return NodeEntry(name, op_type, "", tuple(reads), (makes or f"{name}:0",))


def inventory(*nodes: NodeEntry) -> Inventory:
    return Inventory(opsets={}, nodes=nodes, weights=())


CONV_ENTRY, RELU_ENTRY, POOL_ENTRY = entry("conv", ["x", "w"]), entry("relu", ["conv:0"]), entry("pool", ["relu:0"])
EXPORTED = inventory(CONV_ENTRY, RELU_ENTRY, POOL_ENTRY)


def stands_for(*optimized: NodeEntry) -> dict[str, tuple[str, ...]]:
    return dict(origins(inventory(*optimized), EXPORTED))


def test_a_node_that_kept_its_name_stands_for_itself() -> None:
    assert stands_for(CONV_ENTRY, RELU_ENTRY, POOL_ENTRY) == {"conv": ("conv",), "relu": ("relu",), "pool": ("pool",)}


def test_a_new_node_stands_for_all_between_its_outputs_and_the_nodes_before() -> None:
    assert stands_for(entry("fused", ["x"], "relu:0"), POOL_ENTRY)["fused"] == ("conv", "relu")


def test_a_node_that_kept_its_name_and_took_in_the_next_one_stands_for_both() -> None:
    assert stands_for(entry("conv", ["x"], "relu:0"), POOL_ENTRY)["conv"] == ("conv", "relu")


def test_what_another_node_of_the_optimised_graph_computes_is_not_claimed() -> None:
    assert stands_for(CONV_ENTRY, entry("fused", ["conv:0"], "pool:0"))["fused"] == ("relu", "pool")


def test_a_tensor_to_whose_name_something_was_added_is_the_same() -> None:
    assert stands_for(entry("fused", ["x"], "relu:0_matmul_reshape"), POOL_ENTRY)["fused"] == ("conv", "relu")


def test_of_two_nodes_that_took_the_place_of_the_same_ones_both_belong_to_them() -> None:
    first, second = entry("a", ["x"], "relu:0_a"), entry("b", ["relu:0_a"], "relu:0_b")
    assert stands_for(first, second) == {"a": ("conv", "relu"), "b": ("relu",)}


def test_a_node_whose_tensors_are_all_new_stands_for_nothing() -> None:
    assert stands_for(entry("made", ["x"], "y")) == {}
