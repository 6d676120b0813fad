"""What is known of the values inside If, Loop and Scan holds in every branch and every iteration."""

import numpy as np
import onnx_ir as ir
import pytest
from graphs import graph

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import sizes_of, text

WEIGHTS = {"w": np.ones((8, 5), np.float32), "n": np.array(3), "true": np.array(True), "end": np.array([-1, 2])}


def inferred(body: str, inputs: str = "float[batch,8] x, bool c", end: str = "y") -> dict[str, object]:
    """Return the sizes of everything that is computed, and ``None`` where a size is unknown."""
    model = graph(f"({inputs}) => (float[] out) {{ {body}  out = Identity ({end}) }}", WEIGHTS, 18)
    for value in (output for node in model.graph.all_nodes() for output in node.outputs):
        value.shape = None
    infer(model, names_unknown=False)
    parts = (model.graph, *model.graph.subgraphs())
    values = [output for node in model.graph.all_nodes() for output in node.outputs]
    return {str(value.name): shown(value) for value in (*values, *(value for part in parts for value in part.inputs))}


def shown(value: ir.Value) -> object:
    sizes = sizes_of(value)
    return None if sizes is None else [text(size) for size in sizes]


BRANCHES = """
    r = Relu (x)
    y = If (c) <
        then_branch = yes () => (float[] o1) {{ m = MatMul (r, w)  o1 = Neg (m) }},
        else_branch = no () => (float[] o2) {{ o2 = {other} }}
    >
    z = Neg (y)
"""


def test_a_branch_reads_shapes_from_outside_and_its_answer_has_one():
    found = inferred(BRANCHES.format(other="MatMul (x, w)"), end="z")
    assert found["m"] == found["o1"] == found["y"] == found["z"] == ["batch", 5]


def test_a_size_in_which_two_branches_differ_is_unknown():
    found = inferred(BRANCHES.format(other="Neg (x)"), end="z")
    assert (found["o1"], found["o2"]) == (["batch", 5], ["batch", 8])
    assert found["y"] is found["z"] is None


def loop(body: str, state: str = "float[] h") -> str:
    inner = f"inner (int64 i, bool again, {state}) => (bool go, float[] following, float[] part) {{ {body} }}"
    return f"y, parts = Loop <body: graph = {inner}> (n, true, x)  z = Neg (y)"


def test_a_state_that_keeps_its_shape_has_it_in_every_iteration():
    found = inferred(loop("following = Relu (h)  part = MatMul (h, w)  go = Identity (again)"), end="z")
    assert found["h"] == found["following"] == found["z"] == ["batch", 8]
    assert found["part"] == ["batch", 5]
    assert found["parts"] is None  # how many iterations there are is unknown


def test_a_state_that_grows_is_unknown_where_it_grows_and_so_is_all_that_follows():
    body = "following = Concat <axis: int = 1> (h, x)  part = Neg (following)  go = Identity (again)"
    found = inferred(loop(body), end="z")
    assert [found[name] for name in ("h", "following", "part", "y", "z")] == [None] * 5


def test_a_state_of_which_inference_loses_sight_is_believed_as_far_as_the_file_states_it():
    body = "k = NonZero (h)  s = Shape (k)  following = Expand (x, s)  part = Neg (h)  go = Identity (again)"
    assert inferred(loop(body), end="z")["h"] is None
    assert inferred(loop(body, "float[batch,8] h"), end="z")["h"] == ["batch", 8]


def test_a_stated_shape_that_is_contradicted_is_not_believed():
    body = "following = Concat <axis: int = 1> (h, x)  part = Neg (h)  go = Identity (again)"
    assert inferred(loop(body, "float[batch,8] h"), end="z")["h"] is None


def test_what_was_inferred_under_a_wrong_assumption_is_forgotten():
    body = "p = Relu (h)  following = Concat <axis: int = 0> (p, p)  part = Neg (p)  go = Identity (again)"
    assert inferred(loop(body), end="z")["p"] is None


@pytest.mark.parametrize(("axis", "step"), [(0, [8]), (1, ["batch"])])
def test_a_scan_takes_steps_along_its_axis(axis, step):
    inner = "inner (float[] h, float[] s) => (float[] following, float[] part) { following = Relu (h)  part = Neg (s) }"
    attributes = f"num_scan_inputs: int = 1, scan_input_axes: ints = [{axis}], body: graph = {inner}"
    found = inferred(f"y, parts = Scan <{attributes}> (x, x)")
    assert (found["s"], found["part"], found["h"]) == (step, step, ["batch", 8])
    assert found["parts"] is None


@pytest.mark.parametrize(
    ("stated", "keeps", "sizes"),
    [
        ("rows,8", False, ["batch", 8]),
        ("rows,8", True, ["rows", 8]),
        ("7,8", False, [7, 8]),
        ("rows", False, ["rows"]),
    ],
)
def test_an_output_of_the_model_keeps_numbers_and_if_asked_names_that_are_stated(stated, keeps, sizes):
    model = graph(f"(float[batch,8] x) => (float[{stated}] y) {{ y = Relu (x) }}")
    infer(model, names_unknown=False, keeps_outputs=keeps)
    assert shown(model.graph.outputs[0]) == sizes


def test_a_size_of_an_output_of_which_nothing_is_inferred_keeps_the_name_that_is_stated():
    model = graph("(float[batch,8] x) => (float[rows,found] y) { z = NonZero (x)  y = Cast <to: int = 1> (z) }")
    infer(model)
    assert shown(model.graph.outputs[0]) == [2, "found"]


def test_what_reads_an_output_of_the_model_knows_its_shape():
    model = graph("(float[batch,8] x) => (float[] y, float[] z) { y = Relu (x)  k = Neg (y)  z = Neg (k) }")
    infer(model, names_unknown=False)
    assert [shown(node.outputs[0]) for node in model.graph] == [None, ["batch", 8], None]


def test_inferring_again_finds_the_same():
    body = loop("following = Relu (h)  part = Neg (h)  go = Identity (again)")
    model = graph(f"(float[batch,8] x) => (float[] z) {{ {body} }}", WEIGHTS, 18)
    infer(model, names_unknown=False)
    (inner,) = list(model.graph.subgraphs())
    before = [shown(value) for value in inner.inputs]
    infer(model, names_unknown=False)
    assert [shown(value) for value in inner.inputs] == before
    assert before[2] == ["batch", 8]
