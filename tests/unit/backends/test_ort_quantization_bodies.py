"""Graphs with branches and loops are quantised too: outside of them, and valid afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from written_graphs import graph

from irbench.system.host import int8_weight_bits
from irbench_ort.quantization.tool import quantize_dynamic, quantize_static

MATRIX = np.random.default_rng(3).normal(0, 1, (6, 8)).astype(np.float32)
WEIGHTS = {"w": MATRIX, "v": MATRIX[::-1].copy(), "b": MATRIX[0], "go": np.array(True)}

GRAPHS = {
    "a product with a bias in a loop": """
        a = MatMul(x, w) c = Add(a, b)
        y = Loop(trips, go) <body = turn (int64 i, bool on) => (bool still, float[2,3,8] out) {
            d = MatMul(x, v) e = Add(d, b) out = Add(c, e) still = Identity(on)
        }>""",
    "products with a bias in a loop in a branch": """
        a = MatMul(x, w) c = Add(a, b)
        y = If(flag) <
            then_branch = first () => (float[n,2,3,8] s) {
                d = MatMul(x, v) e = Add(d, b)
                s = Loop(trips, go) <body = turn (int64 i, bool on) => (bool still, float[2,3,8] out) {
                    out = Add(c, e) still = Identity(on)
                }>
            },
            else_branch = second () => (float[n,2,3,8] t) {
                f = MatMul(x, w) h = Add(f, b)
                t = Loop(trips, go) <body = other (int64 i, bool on) => (bool still, float[2,3,8] out) {
                    out = Sub(c, h) still = Identity(on)
                }>
            }
        >""",
    "a body that reads what is computed last": """
        z = Relu(x) a = MatMul(z, w) c = Add(a, b)
        y = Loop(trips, go) <body = turn (int64 i, bool on) => (bool still, float[2,3,8] out) {
            out = Identity(c) still = Identity(on)
        }>""",
}


def _model(text: str) -> onnx.ModelProto:
    return graph(f"(float[2,3,6] x, int64 trips, bool flag) => (float[n,2,3,8] y) {{ {text} }}", opset=18, **WEIGHTS)


def _feed() -> dict[str, Any]:
    x = np.random.default_rng(4).normal(0, 1, (2, 3, 6)).astype(np.float32)
    return {"x": x, "trips": np.array(2), "flag": np.array(True)}


def _feeds() -> Iterator[Mapping[str, Any]]:
    yield _feed()


def _answer(path: Path) -> Any:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    return session.run(None, {name: array for name, array in _feed().items() if name in names})[0]


@pytest.mark.parametrize("method", ["static", "dynamic"])
@pytest.mark.parametrize("text", GRAPHS.values(), ids=GRAPHS)
def test_a_graph_with_bodies_is_valid_and_answers_alike(text: str, method: str, tmp_path: Path) -> None:
    source, made = tmp_path / "source.onnx", tmp_path / "made" / "made.onnx"
    made.parent.mkdir()
    onnx.save(_model(text), source)
    if method == "static":
        quantize_static(source, made, _feeds, int8_weight_bits())
    else:
        quantize_dynamic(source, made, int8_weight_bits())
    onnx.checker.check_model(str(made))
    np.testing.assert_allclose(_answer(made), _answer(source), atol=0.3)
