"""Graphs of old operator sets: raised and optimised, or left alone with a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from front_door import irbench

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.mark.parametrize(
    "opset",
    [
        *(pytest.param(opset, marks=pytest.mark.ci) for opset in (7, 12)),
        *(pytest.param(opset, marks=pytest.mark.slow) for opset in (9, 11)),
    ],
)
def test_a_graph_of_an_old_opset_is_raised_and_optimised(tmp_path: Path, opset: int) -> None:
    called = irbench("optimize", old(tmp_path, opset), "--format", "json")
    assert called.code == 0, called.err
    (graph,) = called.document["optimized"]
    original, raised, *_, last = graph["steps"]
    assert (raised["name"], raised["modified"], raised["max_rel_error"]) == ("raise_opset", True, 0)
    assert "Identity" in original["operators"]
    assert last["operators"] == {"Softmax": 1, "Sub": 1}


@pytest.mark.ci
def test_a_graph_whose_opset_cannot_be_raised_is_left_alone_with_a_line(tmp_path: Path) -> None:
    called = irbench("optimize", scanning(tmp_path))
    assert called.code == 0, called.err
    warning = called.err.splitlines()[-2]
    assert warning.startswith("warning: scanning: opset 8 cannot be raised: ")
    assert "skipped" in called.out
    assert "needs opset 13" in called.out


@pytest.mark.ci
def test_a_precision_that_needs_a_later_opset_is_refused_with_the_way_out(tmp_path: Path) -> None:
    called = irbench("optimize", scanning(tmp_path), "--precision", "int8", "--level", "none")
    assert called.code == 2
    *_, problem, remedy = called.err.splitlines()
    assert "which needs opset 13: it has 8" in problem
    assert "opset 13 or later" in remedy


def old(folder: Path, opset: int) -> Path:
    """Write Softmax(Identity(x - w)) as tools of its time did, weights among the inputs."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [node("Sub", ["x", "w"], ["a"]), node("Identity", ["a"], ["b"]), node("Softmax", ["b"], ["y"], axis=1)]
    weight = onnx.numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")
    given = [value("x", 1, ["N", 3]), value("w", 1, [3])]
    graph = onnx.helper.make_graph(nodes, "g", given, [value("y", 1, ["N", 3])], [weight])
    return saved(graph, folder / "old.onnx", opset, ir_version=3)


def scanning(folder: Path) -> Path:
    """Write a product behind a Scan of opset 8, of which ONNX's converter makes something that cannot be run."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph([node("Neg", ["v"], ["w"])], "b", [value("v", 1, [3])], [value("w", 1, [3])])
    scan = node("Scan", ["", "x"], ["a"], body=body, num_scan_inputs=1)
    weight = onnx.numpy_helper.from_array(np.ones((3, 3), np.float32), "m")
    shape = ["N", 4, 3]
    graph = onnx.helper.make_graph(
        [scan, node("MatMul", ["a", "m"], ["y"])], "g", [value("x", 1, shape)], [value("y", 1, shape)], [weight]
    )
    return saved(graph, folder / "scanning.onnx", 8, ir_version=4)


def saved(graph: onnx.GraphProto, path: Path, opset: int, ir_version: int) -> Path:
    opsets = [onnx.helper.make_opsetid("", opset)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=ir_version), path)
    return path
