"""Which operators are counted, and which of them do the same work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
import onnx.parser
import profiles
import pytest
from profiles import cell, document, node, operator

from irbench.features.profile.counters.counted_operators import (
    MOST_KINDS,
    NodeSet,
    PlacedNodes,
    chosen_kinds,
    node_sets,
    placed_nodes,
)
from irbench.features.profile.joining import JoinedCell, joined_cells
from irbench.features.profile.profile_document import OperatorProfile
from irbench.onnx.operator_classes import OperatorClass
from irbench.spec import TensorSpec

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


CHAIN = """(float[2,3] x) => (float[2,3] y, float[3,2] z)
<float[3] w = {1.0, 2.0, 3.0}, float[3] v = {4.0, 5.0, 6.0}, int64[2] there = {3, 2}, int64[2] back = {2, 3}> {
    [first] a = Mul(x, w)
    [second] b = Mul(a, v)
    [square] c = Mul(b, b)
    [product] d = Mul(b, c)
    [soft] e = Softmax <axis = 1> (d)
    [softer] f = Softmax <axis = 0> (e)
    [again] y = Softmax <axis = 1> (f)
    [turned] z = Reshape(y, there)
    [returned] g = Reshape(z, back)
    [twice] h = Reshape(z, there)
}"""
BRANCH = """(float[2] x, bool cond) => (float[2] y) {
    [outer] a = Neg(x)
    [choice] y = If (cond) <
        then_branch = yes () => (float[2] z) { [inner] z = Exp(a) },
        else_branch = no () => (float[2] z) { z = Abs(a) }
    >
}"""


def placed(folder: Path, text: str, *sets: Sequence[str]) -> tuple[PlacedNodes | None, ...]:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> tiny {text}')
    path = folder / "graph.onnx"
    onnx.save(model, path)
    inputs = [TensorSpec("x", "float32", (2, 3) if "2,3" in text else (2,)), TensorSpec("cond", "bool", ())]
    return placed_nodes(path, inputs[: len(model.graph.input)], sets)


@pytest.mark.parametrize(
    ("left", "right", "are_equal"),
    [
        (["first"], ["second"], True),
        (["first"], ["product"], False),
        (["square"], ["product"], False),
        (["soft"], ["again"], True),
        (["soft"], ["softer"], False),
        (["turned"], ["twice"], False),
        (["turned"], ["returned"], False),
        (["first", "second"], ["second", "first"], True),
        (["square", "product"], ["product", "soft"], False),
    ],
)
def test_nodes_are_equal_that_do_the_same_to_tensors_of_the_same_types_and_shapes(
    tmp_path: Path, left: list[str], right: list[str], are_equal: bool
) -> None:
    first, second = placed(tmp_path, CHAIN, left, right)
    assert first is not None
    assert second is not None
    assert (first.key == second.key) is are_equal


def test_nodes_have_their_places_in_the_graph(tmp_path: Path) -> None:
    assert [found and found.places for found in placed(tmp_path, CHAIN, ["second"], ["soft", "first"])] == [
        (1,),
        (0, 4),
    ]


def test_nodes_of_a_body_cannot_be_cut_out_nor_those_that_have_bodies(tmp_path: Path) -> None:
    assert placed(tmp_path, BRANCH, ["choice"], ["inner"], ["outer", "inner"]) == (None, None, None)
    assert placed(tmp_path, BRANCH, ["outer"]) != (None,)


def test_tensors_of_unknown_shapes_are_equal_to_none(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> tiny (float[2] x) => (float[n] y) {'
        " [left] a = NonZero(x) [right] b = NonZero(x) [one] c = Cast <to = 1> (a) [other] d = Cast <to = 1> (b)"
        " [sum] y = Add(c, d) }"
    )
    onnx.save(model, tmp_path / "graph.onnx")
    specs = [TensorSpec("x", "float32", (2,))]
    one, other = placed_nodes(tmp_path / "graph.onnx", specs, [["one"], ["other"]])
    assert one is not None
    assert other is not None
    assert one.key != other.key


@pytest.mark.parametrize(("exponent", "is_equal"), [("2.0", True), ("0.5", False)])
def test_powers_are_equal_that_have_the_same_exponent(tmp_path: Path, exponent: str, is_equal: bool) -> None:
    graph = f"""(float[2] x) => (float[2] y) <float square = {{2.0}}, float other = {{{exponent}}}> {{
        [first] a = Pow(x, square)
        [second] y = Pow(a, other)
    }}"""
    first, second = placed(tmp_path, graph, ["first"], ["second"])
    assert first is not None
    assert second is not None
    assert (first.key == second.key) is is_equal
