"""A batch size that is written into a graph with a dynamic batch is found, and whether the graph can run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from irbench.onnx.reading import written_batch
from irbench.onnx.reading.written_batch import WrittenBatch, written_batches
from irbench.spec import TensorSpec

X = TensorSpec("x", "float32", ("batch", 4, 6))


def saved(folder: Path, nodes: str, weights: str) -> Path:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[N,4,6] x) => (float[M,K] y) <{weights}> {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((24, 3), np.float32), "w"))
    onnx.save(model, folder / "g.onnx")
    return folder / "g.onnx"


def found(folder: Path, nodes: str, batch: int = 8, weights: str = "") -> WrittenBatch | None:
    (only,) = written_batches(saved(folder, nodes, weights), (X,), [{"batch": batch}])
    return only


@pytest.mark.parametrize(
    ("nodes", "weights"),
    [
        ("y = Reshape(x, t)", "int64[2] t = {1, 24}"),
        ("t = Constant<value = int64[2] {1, 24}>() y = Reshape(x, t)", ""),
        ("t = Concat<axis = 0>(a, b) y = Reshape(x, t)", "int64[1] a = {1}, int64[1] b = {24}"),
    ],
)
def test_a_shape_that_holds_one_batch_alone_cannot_be_given_another(tmp_path: Path, nodes: str, weights: str) -> None:
    assert found(tmp_path, nodes, 8, weights) == WrittenBatch(
        "Reshape of y", "Reshape", 1, ((8, 4, 6),), (1, 24), is_impossible=True
    )
    assert found(tmp_path, nodes, 1, weights) is None


@pytest.mark.parametrize("node", ["y = Gemm(f, w)", "y = MatMul(f, w)"])
def test_a_product_behind_it_that_fits_the_written_batch_alone_shows_that_the_graph_cannot_run(
    tmp_path: Path, node: str
) -> None:
    written = found(tmp_path, f"f = Reshape(x, t) {node}", 8, "int64[2] t = {1, -1}")
    assert written == WrittenBatch("Reshape of f", "Reshape", 1, ((8, 4, 6),), (1, -1), is_impossible=True)


def test_a_graph_that_runs_but_folds_the_batch_is_told_from_one_that_cannot_run(tmp_path: Path) -> None:
    nodes = "f = Reshape(x, t) s = Softmax<axis = 1>(f) y = Reshape(s, u)"
    written = found(tmp_path, nodes, 8, "int64[3] t = {1, -1, 6}, int64[2] u = {-1, 24}")
    assert written == WrittenBatch("Reshape of f", "Reshape", 1, ((8, 4, 6),), (1, -1, 6), is_impossible=False)


@pytest.mark.parametrize("target", ["{-1, 24}", "{0, 24}", "{8, 24}"])
def test_shapes_for_any_batch_and_for_this_one_are_fine(tmp_path: Path, target: str) -> None:
    assert found(tmp_path, "y = Reshape(x, t)", 8, f"int64[2] t = {target}") is None


@pytest.mark.parametrize(
    "nodes",
    [
        "c = Expand(eight, u) r = Reshape(c, t) f = Flatten(x) s = ReduceMean(r) y = Add(f, s)",
        "c = Expand(one, e) r = Reshape(c, t) f = Flatten(x) s = ReduceMean(r) y = Add(f, s)",
    ],
)
def test_a_constant_whose_first_size_is_the_batch_by_chance_is_not_blamed(tmp_path: Path, nodes: str) -> None:
    weights = "int64[2] t = {1, 8}, float[1] one = {1}, int64[2] e = {8, 1}, int64[1] u = {8}, float[8] eight = {"
    weights += ",".join(["1"] * 8) + "}"
    assert found(tmp_path, nodes, 8, weights) is None


def test_a_break_elsewhere_is_not_blamed_on_a_reshape_that_has_no_part_in_it(tmp_path: Path) -> None:
    fold = "f = Reshape(x, t) m = ReduceMean(f) "
    fails = "c = Concat<axis = 1>(x, first) d = ReduceMean(c) g = Flatten(x) s = Add(m, d) y = Add(g, s)"
    weights = f"int64[3] t = {{1, -1, 6}}, float[1,1,6] first = {{{','.join(['1'] * 6)}}}"
    written = found(tmp_path, fold + fails, 8, weights)
    assert written == WrittenBatch("Concat of c", "Concat", 1, ((8, 4, 6), (1, 1, 6)), None, is_impossible=True)


def test_a_graph_that_no_batch_mends_is_not_called_impossible_for_its_batch(tmp_path: Path) -> None:
    nodes = "f = Reshape(x, t) m = ReduceMean(f) g = Flatten(x) b = MatMul(g, w) c = MatMul(b, w) y = Add(c, m)"
    written = found(tmp_path, nodes, 8, "int64[3] t = {1, -1, 6}")
    assert written is not None
    assert not written.is_impossible


ONES = ",".join(["1"] * 6)


@pytest.mark.parametrize(
    ("nodes", "weights", "node", "given", "target"),
    [
        ("s = Slice(x, a, b, a) c = Concat<axis = 1>(x, s) y = Flatten(c)", "int64[1] a = {0}, int64[1] b = {1}",
         "Slice of s", ((8, 4, 6),), (1, 4, 6)),
        ("s = Gather(x, a) c = Concat<axis = 1>(x, s) y = Flatten(c)", "int64[1] a = {0}",
         "Gather of s", ((8, 4, 6),), (1, 4, 6)),
        ("s = Expand(k, e) c = Concat<axis = 1>(x, s) y = Flatten(c)",
         f"float[6] k = {{{ONES}}}, int64[3] e = {{1,1,6}}",
         "Concat of c", ((8, 4, 6), (1, 1, 6)), None),
        ("s = Tile(k, e) c = Concat<axis = 1>(x, s) y = Flatten(c)",
         f"float[1,1,6] k = {{{ONES}}}, int64[3] e = {{2,1,1}}", "Concat of c", ((8, 4, 6), (2, 1, 6)), None),
        ("s = Tile(k, e) c = Add(x, s) y = Flatten(c)", f"float[1,1,6] k = {{{ONES}}}, int64[3] e = {{2,1,1}}",
         "Add of c", ((8, 4, 6), (2, 1, 6)), None),
        ("z, s, e = Split<axis = 0>(x, p) y = Flatten(s)", "int64[3] p = {1, 1, 1}",
         "Split of z", ((8, 4, 6), (3,)), None),
    ],
)  # fmt: skip
def test_batches_in_other_nodes_than_a_reshape_are_named(
    tmp_path: Path, nodes: str, weights: str, node: str, given: tuple[tuple[int, ...], ...], target: tuple[int, ...]
) -> None:
    written = found(tmp_path, nodes, 8, weights)
    assert written is not None
    assert (written.node, written.given, written.target, written.is_impossible) == (node, given, target, True)
    assert found(tmp_path, nodes, written.batch, weights) is None


def test_a_state_of_one_batch_makes_a_recurrent_node_impossible_at_another(tmp_path: Path) -> None:
    zeros = ",".join(["0"] * 30)
    weights = f"float[1,5,6] k = {{{zeros}}}, float[1,5,5] r = {{{zeros[:49]}}}, float[1,1,5] h = {{0,0,0,0,0}}"
    nodes = "t = Transpose<perm = [1, 0, 2]>(x) a, y0 = RNN<hidden_size = 5>(t, k, r, , , h) y = Squeeze(y0, z)"
    written = found(tmp_path, nodes, 8, weights + ", int64[1] z = {0}")
    assert written == WrittenBatch("RNN of a", "RNN", 1, ((4, 8, 6), (1, 1, 5)), None, is_impossible=True)


def test_a_graph_that_needs_a_multiple_of_a_number_has_no_batch_written_into_it(tmp_path: Path) -> None:
    nodes = "f = Reshape(x, t) y = Flatten(f)"
    assert found(tmp_path, nodes, 6, "int64[3] t = {-1, 4, 24}") is None


@pytest.mark.parametrize("nodes", [
    "r = Reshape(x, t) s = Squeeze(r, z) y = Flatten(s)",
    "q = Transpose<perm = [1, 0, 2]>(x) r = Reshape(q, u) v = Transpose<perm = [1, 0, 2]>(r) y = Flatten(v)",
    "m = ReduceMean<axes = [0]>(x) f = Flatten(x) n = Flatten(m) y = Add(f, n)",
])  # fmt: skip
def test_a_batch_that_moves_or_is_reduced_is_followed(tmp_path: Path, nodes: str) -> None:
    weights = "int64[4] t = {1, -1, 4, 6}, int64[1] z = {0}, int64[3] u = {4, -1, 6}"
    assert found(tmp_path, nodes, 8, weights) is None


def test_a_reshape_of_something_else_than_samples_is_not_meant(tmp_path: Path) -> None:
    nodes = "r = Reshape(c, t) f = Flatten(x) y = Add(f, r)"
    assert found(tmp_path, nodes, 8, "float[24] c = {" + ",".join(["1"] * 24) + "}, int64[2] t = {1, 24}") is None


@pytest.mark.parametrize("end", ["8", "12"])
def test_a_slice_that_is_longer_than_the_batch_stops_nothing(tmp_path: Path, end: str) -> None:
    nodes = "s = Slice(x, a, b, a) y = Flatten(s)"
    assert found(tmp_path, nodes, 8, f"int64[1] a = {{0}}, int64[1] b = {{{end}}}") is None


@pytest.mark.parametrize(
    ("nodes", "weights", "inferences"),
    [
        ("f = Flatten(x) r = Relu(f) y = Add(r, b)", f"float[24] b = {{{','.join(['1'] * 24)}}}", 0),
        ("y = Reshape(x, t)", "int64[2] t = {-1, 24}", 1),
        ("y = Reshape(x, t)", "int64[2] t = {1, 24}", 6),
    ],
)
def test_shapes_are_inferred_once_for_all_batches_of_a_graph_that_no_batch_is_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: str, weights: str, inferences: int
) -> None:
    infer, batches = written_batch.inferred_with_values, []

    def counted(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> object:
        batches.append(inputs[0].shape[0])
        return infer(model, inputs)

    monkeypatch.setattr(written_batch, "inferred_with_values", counted)
    asked = [{"batch": batch} for batch in (2, 4, 8, 16)]
    answers = written_batches(saved(tmp_path, nodes, weights), (X,), asked)
    assert [answer is None for answer in answers] == [inferences < 2] * 4
    assert len(batches) == len(set(batches)) == inferences
