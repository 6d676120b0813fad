"""Nodes are equal that do the same work: the same operators, attributes, types and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import onnx.parser
import pytest

from irbench.features.profile.counters.counted_operators import PlacedNodes, placed_nodes
from irbench.spec import TensorSpec

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
