"""Small models that a fuzzer starts from: plain layers, recurrence, subgraphs, weights in a file of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import models
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_OPSET = 17


@dataclass(frozen=True)
class Files:
    """A model's bytes, and those of the files beside it, by name."""

    model: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def write(self, folder: Path) -> Path:
        """Write all into an empty folder and return the model's path."""
        folder.mkdir(parents=True)
        for name, content in self.beside.items():
            (folder / name).write_bytes(content)
        path = folder / "hostile.onnx"
        path.write_bytes(self.model)
        return path


def seeds() -> dict[str, Files]:
    """Return every model by name; the same bytes each time."""
    with tempfile.TemporaryDirectory() as folder:
        return {name: make(Path(folder)) for name, make in _MAKERS.items()}


def _file(path: Path) -> Files:
    return Files(path.read_bytes())


def _external(folder: Path) -> Files:
    path = models.mlp(folder / "external").path
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    return Files(path.read_bytes(), {"weights.bin": (path.parent / "weights.bin").read_bytes()})


def _lstm(_: Path) -> Files:
    random = np.random.default_rng(3)
    shapes = {"w": (1, 16, 6), "r": (1, 16, 4), "b": (1, 32)}
    weights = [numpy_helper.from_array(random.normal(0, 0.4, s).astype(np.float32), n) for n, s in shapes.items()]
    node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["", "y"], "lstm", hidden_size=4)
    return _model([node], [("x", [7, "batch", 6])], [("y", [1, "batch", 4])], weights)


def _branch(_: Path) -> Files:
    def body(name: str, operation: str) -> onnx.GraphProto:
        made = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([helper.make_node(operation, ["x"], [name])], name, [], [made])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], "sum", keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["positive"], "is_positive"),
        helper.make_node(
            "If", ["positive"], ["y"], "if", then_branch=body("kept", "Relu"), else_branch=body("turned", "Neg")
        ),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    return _model(nodes, [("x", ["batch", 5])], [("y", ["batch", 5])], [zero])


def _loop(_: Path) -> Files:
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Add", ["carried", "step"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.FLOAT, ["batch", 3]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, ["batch", 3]),
        ],
    )
    constants = {"turns": np.array(4, np.int64), "true": np.array(True), "step": np.ones((1, 3), np.float32)}
    node = helper.make_node("Loop", ["turns", "true", "x"], ["y"], "loop", body=body)
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    return _model([node], [("x", ["batch", 3])], [("y", ["batch", 3])], weights)


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[tuple[str, list[int | str]]],
    outputs: list[tuple[str, list[int | str]]],
    weights: list[onnx.TensorProto],
) -> Files:
    def values(stated: list[tuple[str, list[int | str]]]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in stated]

    graph = helper.make_graph(nodes, "seed", values(inputs), values(outputs), weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return Files(model.SerializeToString(deterministic=True))


_MAKERS: Mapping[str, Callable[[Path], Files]] = {
    "conv": lambda folder: _file(models.mlp(folder / "conv").path),
    "embedding": lambda folder: _file(models.two_inputs(folder / "embedding").path),
    "lstm": _lstm,
    "branch": _branch,
    "loop": _loop,
    "external": _external,
}
