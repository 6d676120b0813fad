"""A part of a graph computes what the whole graph computes there, from the values that it has there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.reference import ReferenceEvaluator

from irbench.core.graph_record import Uncuttable
from irbench.errors import ExitCode
from irbench.features.reduce import cutting
from irbench.features.reduce.cutting import (
    Activations,
    Boundary,
    Cut,
    CutRequest,
    GraphOutline,
    GraphPart,
    GraphSource,
    OutlineNode,
    outline_of,
    write_parts,
)
from irbench.onnx.reading.check import check_file
from irbench.spec import Artifact, Bundle, Feeding, InputSpec, TensorSpec
from irbench.system.confinement import Confinement
from irbench.worker.failures import CallFailed

CHAIN = """(float[2,3] x) => (float[2,3] y) <float[3] w = {1.0, 2.0, 3.0}> {
    [first] a = Mul(x, w)
    [second] b = Exp(a)
    [third] c = Neg(b)
    [last] y = Add(c, a)
}"""
SHAPES = """(float[2,3] x) => (float[6] y) <int64[1] one = {-1}> {
    [shape] s = Shape(x)
    [size] n = ReduceProd <keepdims=1> (s)
    [neg] m = Neg(x)
    [flat] y = Reshape(m, n)
}"""
BRANCH = """(float[2] x, bool cond) => (float[2] y) {
    [outer] a = Neg(x)
    [choice] y = If (cond) <
        then_branch = yes () => (float[2] z) { z = Exp(a) },
        else_branch = no () => (float[2] z) { z = Abs(a) }
    >
}"""
SEQUENCE = """(float[2] x) => (float[2] y) <int64 zero = {0}> {
    [wrap] s = SequenceConstruct(x, x)
    [take] y = SequenceAt(s, zero)
}"""

CHAIN_BEHIND_A_SEQUENCE = """(float[2] x) => (float[2] v) <int64 zero = {0}> {
    [wrap] s = SequenceConstruct(x, x)
    [take] y = SequenceAt(s, zero)
    [next] z = Neg(y)
    [last] v = Exp(z)
}"""


def source(folder: Path, text: str, **inputs: Any) -> GraphSource:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> tiny {text}')
    path = folder / "whole.onnx"
    onnx.save(model, path)
    specs = tuple(TensorSpec(name, array.dtype.name, array.shape) for name, array in inputs.items())
    outputs = tuple(TensorSpec(value.name, "float32", ()) for value in model.graph.output)
    bundle = Bundle("whole", tuple(map(InputSpec, specs)), (Artifact("onnx", path, specs, outputs),))
    values = {name: tuple(array.ravel().tolist()) for name, array in inputs.items()}
    return GraphSource(bundle.artifacts[0], bundle, {"batch": 1}, Feeding(values=values))


@pytest.fixture
def chain(tmp_path: Path) -> GraphSource:
    return source(tmp_path, CHAIN, x=np.arange(6, dtype=np.float32).reshape(2, 3) / 10)


def written(whole: GraphSource, *kept: int) -> Cut:
    (found,) = write_parts((request(whole, *kept),))
    return found


def cut(whole: GraphSource, *kept: int) -> GraphPart:
    found = written(whole, *kept)
    assert isinstance(found, GraphPart)
    check_file(found.model, shapes=True)
    return found


def request(whole: GraphSource, *kept: int) -> CutRequest:
    folder = whole.artifact.path.parent
    return CutRequest(whole, kept, folder / "-".join(map(str, kept)), folder / "values")


def answered(part: GraphPart) -> dict[str, Any]:
    with np.load(part.data) as archive:
        feed = {name: archive[name] for name in archive.files}
    evaluator = ReferenceEvaluator(str(part.model))
    return dict(zip(evaluator.output_names, evaluator.run(None, feed), strict=True))


def values_of(whole: GraphSource, name: str) -> Any:
    model = onnx.load(whole.artifact.path)
    model.graph.output.append(onnx.ValueInfoProto(name=name))
    given = {key: np.asarray(value, np.float32).reshape(2, 3) for key, value in whole.feeding.values.items()}
    return ReferenceEvaluator(model).run([name], given)[0]


@pytest.mark.parametrize(
    ("kept", "inputs", "outputs"),
    [
        ((0, 1, 2, 3), ["x"], ["y"]),
        ((0,), ["x"], ["a"]),
        ((1,), ["a"], ["b"]),
        ((2, 3), ["b", "a"], ["y"]),
        ((0, 2), ["x", "b"], ["a", "c"]),
        ((0, 1, 2), ["x"], ["c"]),
    ],
)
def test_any_nodes_make_a_graph_that_answers_as_the_whole_one(
    chain: GraphSource, kept: tuple[int, ...], inputs: list[str], outputs: list[str]
):
    part = cut(chain, *kept)
    assert [tensor.name for tensor in part.inputs] == inputs
    assert [tensor.name for tensor in part.outputs] == outputs
    for name, value in answered(part).items():
        np.testing.assert_allclose(value, values_of(chain, name), rtol=1e-6)
    assert part.size_bytes == part.model.stat().st_size


def test_only_the_weights_that_are_read_come_along(chain: GraphSource):
    assert [tensor.name for tensor in onnx.load(cut(chain, 0).model).graph.initializer] == ["w"]
    assert not onnx.load(cut(chain, 1).model).graph.initializer


def test_shapes_that_follow_from_fixed_ones_become_weights(tmp_path: Path):
    whole = source(tmp_path, SHAPES, x=np.ones((2, 3), np.float32))
    found = outline_of(whole.artifact.path)
    assert [node.name for node in found.nodes if node.is_static] == ["shape", "size"]
    assert found.searched == (2, 3)
    part = cut(whole, 3)
    assert [tensor.name for tensor in part.inputs] == ["m"]
    (weight,) = onnx.load(part.model).graph.initializer
    assert onnx.numpy_helper.to_array(weight).tolist() == [6]
    assert answered(part)["y"].shape == (6,)


def test_what_a_graph_inside_a_node_reads_is_an_input(tmp_path: Path):
    whole = source(tmp_path, BRANCH, x=np.array([0.5, 1.0], np.float32), cond=np.array(True))
    part = cut(whole, 1)
    assert {tensor.name for tensor in part.inputs} == {"cond", "a"}
    np.testing.assert_allclose(answered(part)["y"], np.exp([-0.5, -1.0]), rtol=1e-6)


def test_a_sequence_cannot_be_at_the_edge(tmp_path: Path):
    whole = source(tmp_path, SEQUENCE, x=np.ones(2, np.float32))
    assert written(whole, 1) == Uncuttable("no-tensor", "s")
    assert written(whole, 0) == Uncuttable("no-tensor", "s")
    cut(whole, 0, 1)


def test_a_part_that_reads_no_input_is_none(tmp_path: Path):
    whole = source(tmp_path, SHAPES, x=np.ones((2, 3), np.float32))
    assert written(whole, 1) == Uncuttable("no-inputs")


def test_values_are_computed_once(chain: GraphSource, monkeypatch: pytest.MonkeyPatch):
    first = cut(chain, 1)
    monkeypatch.setattr("irbench.core.registry.references_in_order", lambda: ())  # nobody is left to compute any
    assert cut(chain, 1) == first


def test_several_parts_are_written_with_values_of_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = source(tmp_path, CHAIN_BEHIND_A_SEQUENCE, x=np.ones(2, np.float32))
    runs = list[tuple[str, ...]]()
    original = Activations._answers

    def answers(self: Activations, names: tuple[str, ...], feed: Any) -> Any:
        runs.append(names)
        return original(self, names, feed)

    monkeypatch.setattr(Activations, "_answers", answers)
    wrapped, negated, exponential = write_parts([request(whole, 0), request(whole, 2), request(whole, 3)])
    assert wrapped == Uncuttable("no-tensor", "s")
    assert isinstance(negated, GraphPart)
    assert isinstance(exponential, GraphPart)
    assert answered(exponential)["v"].tolist() == pytest.approx([np.exp(-1.0)] * 2)
    assert len(runs) == 1


def test_fewer_parts_than_were_asked_for_are_an_unreadable_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "call_in_worker", lambda *_, **__: ())
    monkeypatch.setattr(cutting, "confinement_to", lambda *_: Confinement())
    source = GraphSource(Artifact("onnx", tmp_path / "m.onnx", (), ()), Bundle("m", (), ()), {}, Feeding())
    with pytest.raises(CallFailed, match="it has 0 parts instead of 1") as caught:
        cutting.cut_parts([CutRequest(source, (0,), tmp_path / "part", tmp_path / "values")])
    assert caught.value.exit_code is ExitCode.FAILED_CELL


def node(name: str, reads: str, writes: str) -> OutlineNode:
    return OutlineNode(name, "Relu", "", tuple(reads.split()), tuple(writes.split()))


OUTLINE = GraphOutline(
    nodes=(
        node("conv", "x w", "a"),
        node("norm", "a", "b unused"),
        node("branch", "a b", "c"),
        node("last", "c inside", "y"),
    ),
    inputs=("x",),
    outputs=("y",),
    weights=frozenset({"w"}),
)


def test_weights_are_no_inputs_and_names_of_inner_graphs_are_none_either():
    assert OUTLINE.boundary({0}) == Boundary(inputs=("x",), constants=(), outputs=("a",))
    assert OUTLINE.boundary({3}) == Boundary(inputs=("c",), constants=(), outputs=("y",))


def test_what_a_kept_node_reads_stays_inside_though_others_read_it_too():
    assert OUTLINE.boundary({0, 1}).outputs == ("b",)


def test_what_nobody_reads_is_no_output():
    assert OUTLINE.boundary({1}).outputs == ("b",)


def test_an_output_of_the_model_stays_one():
    given = replace(OUTLINE, outputs=("a", "y"))
    assert given.boundary({0, 1, 2, 3}).outputs == ("a", "y")


def test_parts_need_not_hang_together():
    assert OUTLINE.boundary({0, 3}) == Boundary(inputs=("x", "c"), constants=(), outputs=("a", "y"))


def test_what_no_input_changes_is_a_constant_at_the_edge_and_not_searched():
    static = replace(OUTLINE, nodes=(replace(OUTLINE.nodes[0], is_static=True), *OUTLINE.nodes[1:]))
    assert static.searched == (1, 2, 3)
    assert static.boundary({1}) == Boundary(inputs=(), constants=("a",), outputs=("b",))
