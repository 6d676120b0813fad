"""A batch size that is written into a graph with a dynamic batch is found, and whether the graph can run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from irbench.onnx.reading.written_batch import WrittenBatch, written_batch
from irbench.spec import TensorSpec

X = TensorSpec("x", "float32", ("batch", 4, 6))


def found(folder: Path, nodes: str, batch: int = 8, weights: str = "") -> WrittenBatch | None:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[N,4,6] x) => (float[M,K] y) <{weights}> {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.zeros((24, 3), np.float32), "w"))
    onnx.save(model, folder / "g.onnx")
    return written_batch(folder / "g.onnx", (X,), {"batch": batch})


@pytest.mark.parametrize(
    ("nodes", "weights"),
    [
        ("y = Reshape(x, t)", "int64[2] t = {1, 24}"),
        ("t = Constant<value = int64[2] {1, 24}>() y = Reshape(x, t)", ""),
        ("t = Concat<axis = 0>(a, b) y = Reshape(x, t)", "int64[1] a = {1}, int64[1] b = {24}"),
    ],
)
def test_a_shape_that_holds_one_batch_alone_cannot_be_given_another(tmp_path: Path, nodes: str, weights: str) -> None:
    assert found(tmp_path, nodes, 8, weights) == WrittenBatch("Reshape of y", (1, 24), (8, 4, 6), is_impossible=True)
    assert found(tmp_path, nodes, 1, weights) is None


@pytest.mark.parametrize("node", ["y = Gemm(f, w)", "y = MatMul(f, w)"])
def test_a_product_behind_it_that_fits_the_written_batch_alone_shows_that_the_graph_cannot_run(
    tmp_path: Path, node: str
) -> None:
    written = found(tmp_path, f"f = Reshape(x, t) {node}", 8, "int64[2] t = {1, -1}")
    assert written == WrittenBatch("Reshape of f", (1, -1), (8, 4, 6), is_impossible=True)


def test_a_graph_that_runs_but_folds_the_batch_is_told_from_one_that_cannot_run(tmp_path: Path) -> None:
    nodes = "f = Reshape(x, t) s = Softmax<axis = 1>(f) y = Reshape(s, u)"
    written = found(tmp_path, nodes, 8, "int64[3] t = {1, -1, 6}, int64[2] u = {-1, 24}")
    assert written == WrittenBatch("Reshape of f", (1, -1, 6), (8, 4, 6), is_impossible=False)
    assert written.batch == 1


@pytest.mark.parametrize("target", ["{-1, 24}", "{0, 24}", "{8, 24}"])
def test_shapes_for_any_batch_and_for_this_one_are_fine(tmp_path: Path, target: str) -> None:
    assert found(tmp_path, "y = Reshape(x, t)", 8, f"int64[2] t = {target}") is None


def test_a_reshape_of_something_else_than_samples_is_not_meant(tmp_path: Path) -> None:
    nodes = "r = Reshape(c, t) f = Flatten(x) y = Add(f, r)"
    assert found(tmp_path, nodes, 8, "float[24] c = {" + ",".join(["1"] * 24) + "}, int64[2] t = {1, 24}") is None
