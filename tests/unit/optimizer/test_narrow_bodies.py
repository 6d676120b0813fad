"""Behind If, Loop, Scan and functions, types follow from the bodies: what is made there is fp32 and stays so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx_ir
import onnxruntime
import pytest
from onnx import numpy_helper

from irbench.onnx.body_shapes import infer_types
from irbench.optimizer.narrowing import narrow

FEED = {"x": np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4), "yes": np.array(True)}
WEIGHTS: Mapping[str, Any] = {
    "w": np.eye(4, dtype=np.float32) + np.float32(0.25),
    "trips": np.array(3),
    "on": np.array(True),
    "first": np.array(0),
    "axis0": np.array([0]),
}

CONTROL_FLOW = {
    "a branch": """
        a = Relu (x)
        b = If (yes) <
            then_branch = then_part () => (float[2,4] t) { k = Constant <value_float: float = 2.0> ()  t = Mul (a, k) },
            else_branch = else_part () => (float[2,4] e) { e = Neg (a) }
        >
        y = MatMul (b, w)""",
    "a branch within a branch": """
        a = Relu (x)
        b = If (yes) <
            then_branch = outer () => (float[2,4] t) {
                c = Sigmoid (a)
                t = If (yes) <
                    then_branch = inner () => (float[2,4] u) { u = Mul (c, a) },
                    else_branch = other () => (float[2,4] v) { v = Neg (c) }
                >
            },
            else_branch = else_part () => (float[2,4] e) { e = Neg (a) }
        >
        y = Add (b, a)""",
    "branches one after the other": """
        a = MatMul (x, w)
        b = If (yes) <
            then_branch = then_1 () => (float[2,4] t) { t = Tanh (a) },
            else_branch = else_1 () => (float[2,4] e) { e = Neg (a) }
        >
        c = Sigmoid (b)
        d = If (yes) <
            then_branch = then_2 () => (float[2,4] p) { p = Add (c, b) },
            else_branch = else_2 () => (float[2,4] q) { q = Neg (c) }
        >
        y = MatMul (d, w)""",
    "a loop with what it carries and what it stacks": """
        a = Relu (x)
        last, stacked = Loop (trips, on, a) <
            body = step (int64 i, bool c, float[2,4] h) => (bool d, float[2,4] n, float[2,4] s) {
            d = Identity (c)  m = MatMul (h, w)  n = Add (m, a)  s = Tanh (n)
        }>
        picked = Gather <axis: int = 0> (stacked, first)
        y = Add (last, picked)""",
    "a loop within a branch": """
        a = Relu (x)
        b = If (yes) <
            then_branch = then_part () => (float[2,4] t) {
                t = Loop (trips, on, a) <body = step (int64 i, bool c, float[2,4] h) => (bool d, float[2,4] n) {
                    d = Identity (c)  n = MatMul (h, w)
                }>
            },
            else_branch = else_part () => (float[2,4] e) { e = Neg (a) }
        >
        y = MatMul (b, w)""",
    "a scan": """
        a = Relu (x)
        start = ReduceSum <keepdims: int = 0> (a, axis0)
        last, sums = Scan <num_scan_inputs: int = 1, body = step (float[4] h, float[4] r) => (float[4] n, float[4] s) {
            n = Add (h, r)  s = Mul (n, r)
        }> (start, a)
        y = Add (sums, last)""",
    "a loop that fills a sequence": """
        a = Relu (x)
        empty = SequenceEmpty <dtype: int = 1> ()
        parts = Loop (trips, on, empty) <
            body = step (int64 i, bool c, seq(float[2,4]) h) => (bool d, seq(float[2,4]) n) {
            d = Identity (c)  n = SequenceInsert (h, a)
        }>
        b = ConcatFromSequence <axis: int = 0, new_axis: int = 1> (parts)
        m = ReduceMax <keepdims: int = 0> (b, axis0)
        y = MatMul (m, w)""",
    "an optional value": """
        a = Relu (x)
        o = Optional (a)
        g = OptionalGetElement (o)
        y = MatMul (g, w)""",
    "a function of the model": """
        a = Relu (x)
        b = own.twice (a)
        y = MatMul (b, w)""",
    "an operation that nobody knows": """
        a = Relu (x)
        b = com.microsoft.QuickGelu (a)
        c = Mul (b, a)
        y = MatMul (c, w)""",
}
TWICE = '<opset_import: ["" : 18], domain: "own"> twice (p) => (q) { q = Add (p, p) }'


def model(body: str, opset: int) -> onnx_ir.Model:
    imports = f'["" : {opset}, "own" : 1, "com.microsoft" : 1]'
    function = TWICE.replace("18", str(opset)) if "own.twice" in body else ""
    header = f"<ir_version: 10, opset_import: {imports}> g (float[2,4] x, bool yes) => (float[2,4] y)"
    proto = onnx.parser.parse_model(f"{header} {{ {body} }} {function}")
    proto.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in WEIGHTS.items() if name in body
    )
    return onnx_ir.from_proto(proto)


def answers(proto: onnx.ModelProto, feed: Mapping[str, Any]) -> np.ndarray:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: feed[value.name] for value in session.get_inputs()})[0]


@pytest.mark.parametrize("case", CONTROL_FLOW)
@pytest.mark.parametrize("chosen", [True, False])
def test_in_fp16_the_graph_stays_valid_and_answers_alike(case: str, chosen: bool):
    wide = model(CONTROL_FLOW[case], 18)
    feed = {**FEED, "yes": np.array(chosen)}
    expected = answers(onnx_ir.to_proto(wide), feed)
    assert narrow(wide, "fp16")
    proto = onnx_ir.to_proto(wide)
    onnx.checker.check_model(proto, full_check="nobody" not in case)
    np.testing.assert_allclose(answers(proto, feed), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("case", [case for case in CONTROL_FLOW if "nobody" not in case])
def test_in_bf16_the_graph_stays_valid(case: str):
    wide = model(CONTROL_FLOW[case], 22)
    assert narrow(wide, "bf16")
    onnx.checker.check_model(onnx_ir.to_proto(wide), full_check=True)


@pytest.mark.parametrize("case", CONTROL_FLOW)
def test_what_follows_computes_in_fp16_where_its_type_is_known(case: str):
    wide = model(CONTROL_FLOW[case], 18)
    narrow(wide, "fp16")
    (last,) = [node for node in wide.graph if any(value.name.startswith("y") for value in node.outputs)][-1:]
    assert last.op_type == "Cast"
    assert last.inputs[0] is not None
    assert last.inputs[0].dtype == onnx_ir.DataType.FLOAT16


def test_behind_an_operation_of_unknown_type_everything_stays_wide():
    wide = model("a = Relu (x)  b = own.Unknown (a)  c = Mul (b, a)  y = Neg (c)", 18)
    assert narrow(wide, "fp16")
    kept = {node.op_type: [value.dtype for value in node.inputs if value is not None] for node in wide.graph}
    assert onnx_ir.DataType.FLOAT16 not in [*kept["Unknown"], *kept["Mul"], *kept["Neg"]]
    assert kept["Relu"] == [onnx_ir.DataType.FLOAT16]


def test_a_type_is_that_of_a_sequence_where_a_loop_makes_one():
    wide = model(CONTROL_FLOW["a loop that fills a sequence"], 18)
    infer_types(wide)
    loop = next(node for node in wide.graph if node.op_type == "Loop")
    assert isinstance(loop.outputs[0].type, onnx_ir.SequenceType)
