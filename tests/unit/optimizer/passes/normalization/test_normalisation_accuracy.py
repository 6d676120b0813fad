"""Far from zero no formula in float32 normalises exactly; the fused operator is no further off than the graph was."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import graph
from onnx_ir import to_proto

from irbench.optimizer.passes.normalization.fuse_layer_normalization import fuse_layer_normalization

WIDTH, EPSILON = 256, 1e-5
BODY = """
    m = ReduceMean <keepdims: int = 1> (x, axes)  d = Sub (x, m)  s = Mul (d, d)
    v = ReduceMean <keepdims: int = 1> (s, axes)  w = Add (v, epsilon)  r = Sqrt (w)
"""
FORMS = {
    "a quotient": "y = Div (d, r)",
    "Keras": "i = Reciprocal (r)  n = Neg (m)  o = Mul (n, i)  p = Mul (x, i)  y = Add (p, o)",
}


def exact(x: np.ndarray) -> np.ndarray:
    """Normalise the last axis in float64."""
    wide = x.astype(np.float64)
    difference = wide - wide.mean(axis=-1, keepdims=True)
    return difference / np.sqrt((difference**2).mean(axis=-1, keepdims=True) + EPSILON)


def answer(model, x: np.ndarray) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(to_proto(model).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


@pytest.mark.parametrize("spread", [1.0, 0.0])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("form", FORMS)
def test_fusing_brings_no_further_error(form, offset, spread):
    body, weights = f"{BODY} {FORMS[form]}", {"axes": np.array([-1]), "epsilon": np.float32(EPSILON)}
    model = graph(f"(float[8,{WIDTH}] x) => (float[8,{WIDTH}] y) {{ {body} }}", weights, 18)
    x = (offset + spread * np.random.default_rng(1).normal(size=(8, WIDTH))).astype(np.float32)
    before = np.abs(answer(model, x) - exact(x)).max()
    assert fuse_layer_normalization(model)
    after = np.abs(answer(model, x) - exact(x)).max()
    assert after <= 2 * before + 1e-5
