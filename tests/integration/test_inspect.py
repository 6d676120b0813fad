"""``irbench inspect`` through its front door."""

from __future__ import annotations

from pathlib import Path

import models
import onnx
import pytest
from front_door import irbench


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def test_a_graph_is_described_to_a_reader(model: Path) -> None:
    called = irbench("inspect", model)
    assert called.code == 0, called.err
    title, _, _, given, made, *_ = called.out.splitlines()
    assert title.startswith("mlp.onnx  6 nodes · 869 parameters")
    assert given.split() == ["input", "pixels", "float32", "batchx3x8x8", "batch"]
    assert made.split() == ["output", "scores", "float32", "batchx5", "batch"]
    assert ["Conv", "1", "17", "%"] in [line.split() for line in called.out.splitlines()]


def test_a_graph_is_described_to_a_program(model: Path) -> None:
    called = irbench("inspect", model, "--format", "json")
    (found,) = called.document["graphs"]
    assert found["nodes"] == 6
    assert found["operators"]["Conv"] == 1
    assert found["parameters"] == 869
    assert found["opsets"] == {"ai.onnx": 17}
    assert found["free_dimensions"] == ["batch"]
    assert found["inputs"][0]["shape"] == ["batch", 3, 8, 8]
    assert found["passes"] is None


def test_two_graphs_are_compared_by_the_names_of_their_nodes(model: Path, tmp_path: Path) -> None:
    changed = onnx.load(model)
    relu = next(node for node in changed.graph.node if node.name == "relu")
    relu.op_type = "Sigmoid"
    onnx.save(changed, tmp_path / "other.onnx")
    called = irbench("inspect", "--diff", model, tmp_path / "other.onnx")
    assert called.code == 0, called.err
    assert "relu (Relu to Sigmoid)" in called.out
    document = irbench("inspect", "--diff", model, tmp_path / "other.onnx", "--format", "json").document
    assert document["operators"] == {"Relu": {"before": 1, "after": 0}, "Sigmoid": {"before": 0, "after": 1}}
    assert [one["after"]["operator"] for one in document["changed"]] == ["Sigmoid"]


def test_equal_graphs_are_said_to_be_equal(model: Path) -> None:
    assert "The same nodes." in irbench("inspect", "--diff", model, model).out


def test_a_graph_that_irbench_cannot_run_is_still_described(model: Path) -> None:
    changed = onnx.load(model)
    changed.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    onnx.save(changed, model)
    called = irbench("inspect", model)
    assert called.code == 0
    assert called.err.startswith("warning: 'pixels'")
    assert "6 nodes" in called.out


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("nobody.onnx",), "no file nobody.onnx", "path"),
        (("resnet50",), "not exported", "irbench export resnet50"),
        (("--diff", "a.onnx"), "compares two graphs", "--diff A B"),
    ],
)
def test_what_is_not_there_is_one_line_and_its_remedy(arguments: tuple[str, ...], said: str, hint: str) -> None:
    called = irbench("inspect", *arguments)
    assert called.code == 2
    problem, remedy = called.err.strip().splitlines()
    assert said in problem
    assert hint in remedy
