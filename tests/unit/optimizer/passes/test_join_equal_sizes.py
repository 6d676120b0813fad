import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.join_equal_sizes import join_equal_sizes

WEIGHTS = {"second": np.array([1]), "at1": np.array(1), "at0": np.array(0), "rest": np.array([-1])}
FEED = {"x": random(2, 5), "z": random(2, 5)}


def make(body, inputs="float[batch,tokens] x, float[batch,tokens] z", output="int64[n] y"):
    return graph(f"({inputs}) => ({output}) {{ {body} }}", WEIGHTS)


WITHIN = {
    "gathered from a shape": "s = Shape (r)  t = Gather (s, second)  u = Gather (s, second)",
    "sliced from a cast shape": (
        "s = Shape (r)  c = Cast <to = 6> (s)  v = Slice (c, second, two)  t = Cast <to = 7> (v)  u = Identity (t)"
    ),
    "a number without an axis": "s = Shape (r)  v = Gather (s, at1)  t = Unsqueeze (v, zero)  u = Unsqueeze (v, zero)",
}


@pytest.mark.parametrize("case", WITHIN)
def test_rule_1_asks_the_input_for_the_size_of_what_is_computed_from_it(case):
    sources = {**WEIGHTS, "two": np.array([2]), "zero": np.array([0])}
    body = f"m = MatMul (x, w)  r = Relu (m)  {WITHIN[case]}  y = Concat <axis = 0> (t, u)  z = Neg (r)"
    text = f"(float[batch,tokens] x, float[tokens,tokens] w) => (int64[2] y, float[batch,tokens] z) {{ {body} }}"
    model = graph(text, sources)
    applied(join_equal_sizes, model, {"x": random(2, 5), "w": random(5, 5)})
    (shape,) = [node for node in model.graph if node.op_type == "Shape"]
    assert shape.inputs[0].name == "x"
    assert [node.op_type for node in model.graph if node.inputs[0].name == "r"] == ["Neg"]


def test_rule_1_asks_for_a_size_with_no_more_nodes_than_before():
    body = "r = Relu (x)  s = Shape <start = 1, end = 2> (r)  y = Neg (s)  z = Abs (r)"
    model = graph(f"(float[batch,tokens] x) => (int64[1] y, float[batch,tokens] z) {{ {body} }}", {})
    assert sorted(applied(join_equal_sizes, model, {"x": random(2, 5)})) == ["Abs", "Neg", "Relu", "Shape"]
    (shape,) = [node for node in model.graph if node.op_type == "Shape"]
    assert shape.inputs[0].name == "x"


def test_rule_1_asks_no_sequence_for_its_size():
    body = "r = Relu (x)  t = Shape (r)  u = Gather (t, second)  y = Neg (u)  z = SequenceLength (s)"
    model = graph(f"(seq(float[batch,tokens]) s, float[batch,tokens] x) => (int64[1] y, int64 z) {{ {body} }}", WEIGHTS)
    applied(join_equal_sizes, model, {"s": [FEED["z"]], "x": FEED["x"]})
    (shape,) = [node for node in model.graph if node.op_type == "Shape"]
    assert shape.inputs[0].name == "x"


def test_rule_1_leaves_the_size_of_what_no_input_is_as_long_as():
    model = make(
        "c = Concat <axis = 1> (x, z)  r = NonZero (c)  s = Shape (r)  y = Gather (s, second)", output="int64[1] y"
    )
    assert kept(join_equal_sizes, model)


def test_rule_2_joins_the_shapes_of_tensors_with_the_same_sizes():
    body = "r = Relu (x)  s = Shape (x)  t = Shape (r)  u = Gather (t, second)  v = Gather (s, second)"
    model = make(f"{body}  y = Concat <axis: int = 0> (u, v)", output="int64[2] y")
    assert sorted(applied(join_equal_sizes, model, FEED)) == ["Concat", "Gather", "Shape"]


def test_rule_2_joins_what_is_computed_in_other_ways():
    body = "s = Shape <start: int = 1> (x)  t = Shape (z)  u = Gather (t, second)  a = Neg (s)  b = Abs (u)"
    model = make(f"{body}  y = Concat <axis: int = 0> (a, b)", output="int64[2] y")
    assert sorted(applied(join_equal_sizes, model, FEED)) == ["Abs", "Concat", "Neg", "Shape"]


APART = {
    "sizes have other names": (
        "s = Shape <start: int = 1> (x)  t = Shape <start: int = 1> (z)",
        "float[batch,others] z",
    ),
    "one has an axis less": ("w = Shape (x)  s = Gather (w, second)  t0 = Gather (w, at1)  t = Abs (t0)", None),
    "one has another type": (
        "s = Shape <start: int = 1> (x)  t1 = Cast <to: int = 6> (s)  t = Cast <to: int = 1> (t1)",
        None,
    ),
}


@pytest.mark.parametrize("case", APART)
def test_sizes_stay_apart_where(case):
    body, other = APART[case]
    inputs = "float[batch,tokens] x, " + (other or "float[batch,tokens] z")
    model = make(f"{body}  y = Neg (s)  v = Neg (t)", inputs, "int64[n] y")
    model.graph.outputs.append(model.graph[-1].outputs[0])
    assert kept(join_equal_sizes, model)


def test_sizes_without_a_name_stay_apart():
    model = make("s = Shape (x)  t = Shape (z)  a = Neg (s)  b = Abs (t)  y = Concat <axis: int = 0> (a, b)")
    for value in model.graph.inputs:
        value.shape = None
    assert kept(join_equal_sizes, model)


def test_sizes_that_are_an_output_stay():
    text = "(float[batch,tokens] x) => (int64[2] y, int64[2] s) { s = Shape (x)  y = Shape (x) }"
    assert kept(join_equal_sizes, graph(text, {}))
