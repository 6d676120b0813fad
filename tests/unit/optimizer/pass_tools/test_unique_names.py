"""No value that a pass makes is called like another one, be it in a body, an initializer, or outside of a body."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from graphs import answered, graph, random
from onnx_ir import to_proto

from irbench.optimizer.pass_tools.edit import make_names_unique, names_in
from irbench.optimizer.passes.fold_shapes import fold_shapes
from irbench.optimizer.passes.fuse_gelu import fuse_gelu
from irbench.optimizer.passes.normalization.fuse_layer_normalization import fuse_layer_normalization

GELU = "a = Div (x, root)  b = Erf (a)  c = Add (b, one)  d = Mul (x, c)  g = Mul (d, half)"
NUMBERS = {"root": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5)}
BRANCH = """
    y = If (yes) <
        then_branch = then_part () => (float[2,8] t) { val_0 = Neg (g)  val_1 = Relu (val_0)  t = Add (val_1, val_0) },
        else_branch = else_part () => (float[2,8] e) { val_0 = Abs (g)  e = Neg (val_0) }
    >
"""
FIRST = BRANCH.replace("g)", "x)").replace("y =", "z =")
LAST = GELU.replace("x", "z").replace("g =", "y =")


def checked(model, graph_pass, feed):
    before = answered(model, feed)
    assert graph_pass(model)
    onnx.checker.check_model(to_proto(model), full_check=True)
    names = [value.name for node in model.graph for value in node.outputs] + list(model.graph.initializers)
    assert len(names) == len(set(names))
    for after, expected in zip(answered(model, feed), before, strict=True):
        np.testing.assert_allclose(after, expected, atol=1e-5)


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("body", [f"{GELU}  {BRANCH}", f"{FIRST}  {LAST}"], ids=["before it", "behind it"])
def test_a_name_of_a_body_is_not_given_again(body, yes):
    model = graph(f"(float[2,8] x, bool yes) => (float[2,8] y) {{ {body} }}", NUMBERS)
    checked(model, fuse_gelu, {"x": random(2, 8), "yes": np.array(yes)})


def test_a_name_of_an_initializer_is_not_given_again():
    body = """
        m = ReduceMean <keepdims: int = 1> (x, axes)  d = Sub (x, m)  s = Mul (d, d)
        v = ReduceMean <keepdims: int = 1> (s, axes)  w = Add (v, epsilon)  r = Sqrt (w)  n = Div (d, r)
        a = Mul (n, val_0)  b = Add (a, val_1)  y = MatMul (b, val_2)
    """
    weights = {"axes": np.array([-1]), "epsilon": np.float32(1e-5), "val_0": random(8), "val_1": random(8) + 1}
    weights["val_2"] = random(8, 8)
    model = graph(f"(float[2,8] x) => (float[2,8] y) {{ {body} }}", weights)
    checked(model, fuse_layer_normalization, {"x": random(2, 8)})


def test_inputs_outputs_and_initializers_of_the_main_graph_keep_their_names():
    model = graph(f"(float[2,8] x, bool yes) => (float[2,8] y) {{ {GELU}  {BRANCH} }}", NUMBERS)
    fixed = [value.name for value in (*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values())]
    model.graph[0].outputs[0].name = "y"
    model.graph[1].outputs[0].name = "root"
    make_names_unique(model)
    after = [value.name for value in (*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values())]
    assert after == fixed
    assert {"y1", "root1"} <= names_in(model.graph)


def test_branches_may_use_the_same_name():
    model = graph(f"(float[2,8] x, bool yes) => (float[2,8] y) {{ {GELU}  {BRANCH} }}", NUMBERS)
    make_names_unique(model)
    assert str(to_proto(model)).count('"val_0"') == 5


INNERMOST = """
    If (yes) <
        then_branch = inner () => (float[2,8] p) { p = Neg (val_0) },
        else_branch = other () => (float[2,8] q) { q = Abs (x) }
    >
"""


def test_a_body_within_a_body_looks_outside_too():
    body = f"""
        y = If (yes) <
            then_branch = then_part () => (float[2,8] t) {{ val_0 = Relu (x)  t = {INNERMOST} }},
            else_branch = else_part () => (float[2,8] e) {{ e = Neg (x) }}
        >
    """
    model = graph(f"(float[2,8] x, bool yes) => (float[2,8] y) {{ {body} }}")
    deepest = next(node for node in model.graph.all_nodes() if node.op_type == "Neg" and len(node.inputs) == 1)
    deepest.outputs[0].name = "val_0"
    make_names_unique(model)
    assert deepest.outputs[0].name != "val_0"
    onnx.checker.check_model(to_proto(model), full_check=True)


def test_folding_gives_names_that_are_free():
    body = f"k = Add (two, two)  c = Cast <to: int = 1> (k)  h = Mul (x, c)  {BRANCH.replace('g)', 'h)')}"
    model = graph(f"(float[2,8] x, bool yes) => (float[2,8] y) {{ {body} }}", {"two": np.array(2)})
    checked(model, fold_shapes, {"x": random(2, 8), "yes": np.array(True)})
