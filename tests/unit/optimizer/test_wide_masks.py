"""Rows of attention that see nothing, or only some keys, are in fp16 what they are in fp32, whatever the mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import onnx
import onnx_ir
import onnxruntime
import pytest
from written_graphs import graph

from irbench.optimizer.narrowing import narrow

LOWEST = float(np.finfo(np.float32).min)
SCORES = np.array([[0, 3, 1, -2], [5, 1, 2, 0], [1, 2, 3, 4]], np.float32)
ROWS = np.array([[True] * 4, [False] * 4, [True, False, True, False]])
"""The second row sees nothing."""

WEIGHTS: Mapping[str, Any] = {
    "w": np.eye(4, dtype=np.float32),
    "low": np.float32(-1e9),
    "lowest": np.float32(LOWEST),
    "zero": np.float32(0),
    "unit": np.float32(1),
    "half": np.float32(0.5),
    "shape": np.array([3, 4]),
}

WRITTEN = {
    "added as a choice": "m = Where(rows, zero, low) a = Add(s, m)",
    "added as a product": "f = Cast<to=1>(rows) n = Sub(unit, f) m = Mul(n, low) a = Add(m, s)",
    "put in the place of scores": "a = Where(rows, s, low)",
    "the lowest number of fp32": "m = Where(rows, zero, lowest) a = Add(s, m)",
    "a tensor of one number": (
        "c = ConstantOfShape<value = float[1] {-1e9}>(shape) m = Where(rows, zero, c) a = Add(s, m)"
    ),
    "two masks": "m = Where(rows, zero, low) n = Add(m, m) a = Add(s, n)",
    "before a scale": "m = Where(rows, zero, low) b = Add(s, m) a = Mul(b, half)",
}


def _model(text: str, *inputs: str, opset: int = 18, **weights: Any) -> onnx.ModelProto:
    signature = ", ".join(("float[3,4] x", *inputs))
    return graph(f"({signature}) => (float[3,4] y) {{ {text} }}", opset=opset, **{**WEIGHTS, **weights})


def _answers(model: onnx.ModelProto, feed: Mapping[str, Any]) -> Any:
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(feed))[0]


def _narrowed(model: onnx.ModelProto, precision: Literal["fp16", "bf16"] = "fp16") -> onnx_ir.Model:
    narrower = onnx_ir.from_proto(model)
    assert narrow(narrower, precision)
    return narrower


def _narrow_and_right(model: onnx.ModelProto, feed: Mapping[str, Any]) -> tuple[Any, Any]:
    return _answers(onnx_ir.to_proto(_narrowed(model)), feed), _answers(model, feed)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_a_row_that_sees_nothing_weighs_all_keys_alike(written: str) -> None:
    model = _model(f"s = MatMul(x, w) {written} y = Softmax(a)", "bool[3,4] rows")
    np.testing.assert_allclose(*_narrow_and_right(model, {"x": SCORES, "rows": ROWS}), atol=1e-2)


def test_a_mask_that_is_an_input_is_as_good_as_a_constant_one() -> None:
    model = _model("s = MatMul(x, w) a = Add(s, mask) y = Softmax(a)", "float[3,4] mask")
    for low in (-1e9, LOWEST):
        np.testing.assert_allclose(
            *_narrow_and_right(model, {"x": SCORES, "mask": np.where(ROWS, 0, low).astype(np.float32)}), atol=1e-2
        )


def test_products_beside_a_large_mask_are_narrow_and_what_applies_it_is_not() -> None:
    text = f"s = MatMul(x, w) {WRITTEN['added as a product']} p = Softmax(a) y = MatMul(p, w)"
    text = text.replace("y = MatMul(p, w)", "y = MatMul(p, v)")
    model = _narrowed(_model(text, "bool[3,4] rows", v=np.eye(4, dtype=np.float32)))
    types = {node.op_type: node.outputs[0].dtype for node in model.graph}
    assert types["MatMul"] == onnx_ir.DataType.FLOAT16
    assert {types[name] for name in ("Sub", "Mul", "Add", "Softmax")} == {onnx_ir.DataType.FLOAT}
    casts = [node for node in model.graph if node.op_type == "Cast"]
    assert len(casts) == 5  # of x, the flags, the scores, the weights of keys, and the output


@pytest.mark.parametrize(
    "text", ["s = MatMul(x, w) y = Softmax(s)", "s = MatMul(x, w) a = Add(s, half) y = Softmax(a)", "y = Softmax(x)"]
)
def test_a_softmax_without_a_large_mask_is_narrow(text: str) -> None:
    model = _narrowed(_model(text))
    assert {node.outputs[0].dtype for node in model.graph if node.op_type == "Softmax"} == {onnx_ir.DataType.FLOAT16}


def test_a_mask_within_the_range_of_bf16_is_narrow_there() -> None:
    model = _model(f"s = MatMul(x, w) {WRITTEN['added as a choice']} y = Softmax(a)", "bool[3,4] rows", opset=22)
    assert {node.outputs[0].dtype for node in _narrowed(model, "bf16").graph if node.op_type == "Softmax"} == {
        onnx_ir.DataType.BFLOAT16
    }


def _attention(mask: str, *inputs: str) -> onnx.ModelProto:
    text = f"{mask} y = Attention<q_num_heads=1, kv_num_heads=1>(x, keys, values, m)"
    signature = ", ".join(("float[1,3,4] x", "float[1,4,4] keys", "float[1,4,4] values", *inputs))
    return graph(f"({signature}) => (float[1,3,4] y) {{ {text} }}", opset=23, **WEIGHTS)


def _feed_of_attention(**others: Any) -> dict[str, Any]:
    chance = np.random.default_rng(5)
    drawn = {name: chance.normal(0, 1, (1, 4, 4)).astype(np.float32) for name in ("keys", "values")}
    return {"x": chance.normal(0, 1, (1, 3, 4)).astype(np.float32), **drawn, **others}


@pytest.mark.parametrize("low", [-1e9, -np.inf])
def test_a_mask_of_attention_that_is_an_input_keeps_its_meaning(low: float) -> None:
    model = _attention("m = Identity(mask)", "float[3,4] mask")
    np.testing.assert_allclose(
        *_narrow_and_right(model, _feed_of_attention(mask=np.where(ROWS, 0, low).astype(np.float32))), atol=1e-2
    )


def test_two_large_masks_of_attention_are_added_before_they_become_narrow() -> None:
    model = _attention("a = Where(rows, zero, low) m = Add(a, a)", "bool[3,4] rows")
    np.testing.assert_allclose(*_narrow_and_right(model, _feed_of_attention(rows=ROWS)), atol=1e-2)
    operators = [node.op_type for node in _narrowed(model).graph]
    assert operators.index("Add") < operators.index("Clip") < operators.index("Attention")
