"""Operators are counted that take most of the time of their class, equal ones once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import profiles
from profiles import cell, document, node, operator

from irbench.features.profile.counters.counted_operators import MOST_KINDS, NodeSet, chosen_kinds, node_sets
from irbench.features.profile.joining import JoinedCell, joined_cells
from irbench.features.profile.record import OperatorProfile
from irbench.onnx.operator_classes import OperatorClass

CONVS = tuple(node(f"conv{number}", "Conv", OperatorClass.MATRIX) for number in range(12))


def convolutions(*times_ms: float) -> list[OperatorProfile]:
    return [operator(f"conv{place}", "Conv", time_ms, nodes=[f"conv{place}"]) for place, time_ms in enumerate(times_ms)]


def joined(operators: Sequence[OperatorProfile]) -> JoinedCell:
    (found,) = joined_cells(document(cell("ort", operators, [30.0], [30.0]), graphs={"none": CONVS}))
    return found


def keys(found: JoinedCell, equal: Mapping[str, str] | None = None) -> dict[NodeSet, str]:
    return {each: (equal or {}).get(each.nodes[0], each.nodes[0]) for each in node_sets(found, {})}


def counted(found: JoinedCell, equal: Mapping[str, str] | None = None) -> list[tuple[str, int]]:
    return [(kind.sets[0].nodes[0], len(kind.sets)) for kind in chosen_kinds(found, keys(found, equal))]


def test_the_operators_that_take_longest_are_counted_until_they_take_four_fifths_of_their_class() -> None:
    assert counted(joined(convolutions(1.0, 5.0, 1.0, 3.0))) == [("conv1", 1), ("conv3", 1)]


def test_no_more_than_a_few_kinds_of_a_class_are_counted() -> None:
    assert len(counted(joined(convolutions(*[1.0] * 10)))) == MOST_KINDS


def test_equal_operators_are_counted_once_and_take_their_time_together() -> None:
    equal = dict.fromkeys(("conv0", "conv2", "conv3"), "same")
    found = joined(convolutions(2.0, 3.0, 2.0, 2.0))
    (first, second) = chosen_kinds(found, keys(found, equal))
    assert (len(first.sets), first.operators, first.time_ns) == (3, (0, 2, 3), 6_000_000)
    assert second.sets[0].nodes == ("conv1",)


def test_what_cannot_be_cut_out_is_left_out_and_the_next_one_is_counted() -> None:
    found = joined(convolutions(5.0, 3.0))
    cuttable = {each: key for each, key in keys(found).items() if each.nodes != ("conv0",)}
    assert [kind.sets[0].nodes for kind in chosen_kinds(found, cuttable)] == [("conv1",)]


def test_a_class_that_takes_hardly_any_time_is_not_counted() -> None:
    operators = [*convolutions(99.5), operator("softmax", "Softmax", 0.5, nodes=["softmax"])]
    graph = (CONVS[0], node("softmax", "Softmax", OperatorClass.NORMALISATION))
    (found,) = joined_cells(document(cell("ort", operators, [100.0], [100.0]), graphs={"none": graph}))
    assert counted(found) == [("conv0", 1)]


def test_fused_nodes_are_one_set_and_what_computes_no_node_is_none() -> None:
    ort, openvino, *_ = joined_cells(profiles.example())
    assert node_sets(openvino, profiles.KINDS["openvino"])[0].nodes == ("block/conv", "block/relu")
    assert sorted(each.nodes for each in node_sets(ort, {})) == sorted((each.name,) for each in profiles.NODES)


def test_of_operators_that_share_some_nodes_the_longest_has_them() -> None:
    shared = [
        operator("short", "Conv", 1.0, nodes=["conv0", "conv1"]),
        operator("long", "Conv", 4.0, nodes=["conv1", "conv2"]),
        operator("same", "Conv", 2.0, nodes=["conv1", "conv2"]),
    ]
    (only,) = node_sets(joined(shared), {})
    assert (only.nodes, only.operators, only.time_ns) == (("conv1", "conv2"), (1, 2), 6_000_000)


def test_a_product_that_is_joined_with_its_bias_alone_is_not_counted_as_a_sum() -> None:
    graph = (*CONVS, node("bias", "Add", OperatorClass.ELEMENTWISE))
    operators = [*convolutions(4.0), operator("dense", "FullyConnected", 4.0, nodes=["bias"])]
    (found,) = joined_cells(document(cell("openvino", operators, [9.0], [9.0]), graphs={"none": graph}))
    assert [each.nodes for each in node_sets(found, {"FullyConnected": OperatorClass.MATRIX})] == [("conv0",)]
    assert len(node_sets(found, {})) == 2


def test_operators_that_compute_a_part_of_a_product_are_not_counted_as_the_whole_of_it() -> None:
    named = ("Eltwise", "MatMul", "Softmax", "MatMul")
    timed = zip(named, (1.0, 5.0, 2.0, 4.0), strict=True)
    operators = [operator(f"{kind}{time_ms}", kind, time_ms, nodes=["attn"]) for kind, time_ms in timed]
    kinds = {"Eltwise": OperatorClass.ELEMENTWISE}
    graph = (node("attn", "Attention", OperatorClass.MATRIX),)
    measured = cell("openvino", operators, [12.0], [12.0])
    (found,) = joined_cells(document(measured, graphs={"none": graph}, kinds={"openvino": kinds}))
    assert node_sets(found, kinds) == (NodeSet(("attn",), (1, 3), OperatorClass.MATRIX, 9_000_000),)
