"""Contents of small tensors that follow from shapes: those that ONNX's reference evaluator computes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from written_graphs import graph

from irbench.cost_model.counting import model_cost
from irbench.onnx.reading.small_values import propagate_sizes
from irbench.onnx.reading.value_shapes import inferred_at
from irbench.spec import TensorSpec

INTEGERS = {"i": np.array([7, -5, 3]), "j": np.array([2, 3, -2]), "k": np.array(1), "axis": np.array([0])}

CALLS = {
    "Abs": "Abs (i)", "Add": "Add (i, j)", "And": "And (p, q)", "Cast": "Cast <to = 1> (i)", "Ceil": "Ceil (f)",
    "Concat": "Concat <axis = 0> (i, j)", "Constant": "Constant <value_ints = [3, 4]> ()",
    "ConstantOfShape": "ConstantOfShape (a)", "Div": "Div (i, j)", "Equal": "Equal (i, j)",
    "Expand": "Expand (k, a)", "Floor": "Floor (f)", "Gather": "Gather (i, k)", "Greater": "Greater (i, j)",
    "GreaterOrEqual": "GreaterOrEqual (i, j)", "Identity": "Identity (i)", "Less": "Less (i, j)",
    "LessOrEqual": "LessOrEqual (i, j)", "Max": "Max (i, j)", "Min": "Min (i, j, k)", "Mod": "Mod (i, j)",
    "Mul": "Mul (i, j)", "Neg": "Neg (i)", "Not": "Not (p)", "Or": "Or (p, q)", "Range": "Range (k, t, k)",
    "ReduceMax": "ReduceMax (i, axis)", "ReduceMin": "ReduceMin <keepdims = 0> (i)", "ReduceProd": "ReduceProd (i)",
    "ReduceSum": "ReduceSum (i, axis)", "Reshape": "Reshape (a, r)", "Slice": "Slice (i, s, e, axis, n)",
    "Split": "Split <num_outputs = 3> (i)", "Squeeze": "Squeeze (axis, axis)", "Sub": "Sub (i, j)",
    "Unsqueeze": "Unsqueeze (i, axis)", "Where": "Where (p, i, j)",
}  # fmt: skip
WEIGHTS = {
    **INTEGERS,
    "a": np.array([2, 3]), "t": np.array(6), "r": np.array([1, -1]), "f": np.array([1.5, -2.5], np.float32),
    "p": np.array([True, False, True]), "q": np.array([True, True, False]),
    "s": np.array([-1]), "e": np.array([-9]), "n": np.array([-1]),
}  # fmt: skip


def test_an_operator_computes_what_onnx_says(subtests):
    for operator, call in CALLS.items():
        with subtests.test(operator=operator):
            outputs = "y, u, v" if operator == "Split" else "y"
            model = graph(f"(float[1] x) => (y) {{ {outputs} = {call} }}", **WEIGHTS)
            (expected,) = ReferenceEvaluator(model).run(None, {"x": np.zeros(1, np.float32)})
            found = propagate_sizes(model)[0]["y"]
            np.testing.assert_array_equal(found, expected)
            assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)


def test_the_last_of_several_parts_is_the_smaller_one():
    model = graph("(float[1] x) => (y) { y, u, v = Split <num_outputs = 3> (i) }", i=np.arange(7))
    values = propagate_sizes(model)[0]
    expected = ReferenceEvaluator(
        graph("(float[1] x) => (y, u, v) { y, u, v = Split <num_outputs = 3> (i) }", i=np.arange(7))
    )
    for name, value in zip("yuv", expected.run(None, {"x": np.zeros(1, np.float32)}), strict=True):
        np.testing.assert_array_equal(values[name], value)
    assert [len(values[name]) for name in "yuv"] == [3, 3, 1]


def test_sizes_are_followed_through_arithmetic_to_a_range():
    model = graph(
        "(float[batch, length] x) => (y) { s = Shape (x)  n = Gather (s, one)  h = Div (n, two)  m = Add (h, one)"
        "  r = Range (zero, m, one)  c = Cast <to = 1> (r)  y = Add (c, c) }",
        one=np.array(1), two=np.array(2), zero=np.array(0),
    )  # fmt: skip
    (output,) = inferred_at(model, [TensorSpec("x", "float32", (3, 100))]).graph.output
    assert [size.dim_value for size in output.type.tensor_type.shape.dim] == [51]


def test_the_nodes_of_an_inferred_graph_are_those_of_the_file():
    model = graph("(float[batch, 4] x) => (y) { s = Shape (x)  z = ConstantOfShape (s)  y = Add (x, z) }")
    inferred = inferred_at(model, [TensorSpec("x", "float32", (3, 4))])
    assert [list(node.input) for node in inferred.graph.node] == [list(node.input) for node in model.graph.node]
    assert len(inferred.graph.initializer) == 0


def test_a_trip_count_that_is_a_size_is_known():
    model = graph(
        "(float[steps, 3] x, bool go) => (y) { s = Shape (x)  n = Gather (s, zero)  y = Loop <body = turn "
        "(int64 i, bool c, float[5, 3] s) => (bool d, float[5, 3] t) { d = Identity (c)  t = Relu (s) }"
        "> (n, go, z) }",
        zero=np.array(0), z=np.ones((5, 3), np.float32),
    )  # fmt: skip
    cost = model_cost(model, [TensorSpec("x", "float32", (7, 3)), TensorSpec("go", "bool", ())])
    assert (cost.flops, cost.uncounted) == (7 * 15, ())


@pytest.mark.parametrize("call", ["Div (i, z)", "Mod (i, z)", "Gather (i, t)", "Reshape (i, t)", "Range (k, k, z)"])
def test_what_cannot_be_computed_stays_unknown(call):
    model = graph(f"(float[1] x) => (y) {{ y = {call} }}", **WEIGHTS, z=np.array(0))
    assert "y" not in propagate_sizes(model)[0]


def test_long_tensors_are_left_out():
    model = graph("(float[1] x) => (y) { r = Range (k, big, k)  e = Expand (k, wide)  y = Add (e, r) }",
                  k=np.array(1), big=np.array(10**9), wide=np.array([10**6, 10**6]))  # fmt: skip
    assert propagate_sizes(model)[0] == {}


@pytest.mark.parametrize("spelled", ["", "ai.onnx"])
def test_sizes_are_followed_whatever_the_file_calls_onnxs_own_operators(spelled):
    model = graph(
        "(float[batch, 4] x) => (y) { s = Shape (x)  n = ReduceProd (s)  e = Range (zero, n, one)  y = Add (e, e) }",
        zero=np.array([0]).reshape(()), one=np.array(1),
    )  # fmt: skip
    model.opset_import[0].domain = spelled
    for node in model.graph.node:
        node.domain = spelled
    model.graph.node[1].attribute.append(onnx.helper.make_attribute("keepdims", 0))
    cost = model_cost(model, [TensorSpec("x", "float32", (3, 4))])
    assert cost.nodes[-1].flops == 12


def test_decoders_of_many_layers_are_followed_to_their_end():
    layer = (
        "s{n} = Shape (x{n})  p{n} = ReduceProd <keepdims = 0> (s{n})  r{n} = Range (zero, p{n}, one)"
        "  t{n} = Concat <axis = 0> (s{n}, ones)  u{n} = Reshape (r{n}, t{n})  x{m} = Squeeze (u{n}, last)  "
    )
    layers = "".join(layer.format(n=number, m=number + 1) for number in range(40))
    model = graph(
        f"(int64[batch, 4] x0) => (y) {{ {layers} y = Mul (x40, x40) }}",
        zero=np.array(0), one=np.array(1), ones=np.array([1]), last=np.array([2]),
    )  # fmt: skip
    cost = model_cost(model, [TensorSpec("x0", "int64", (300, 4))])
    assert (cost.nodes[-1].flops, cost.uncounted) == (1200, ())
