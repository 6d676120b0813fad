"""Rules reach bodies with what is known there, and leave functions alone."""

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import answered, graph, kept, random
from onnx import helper, numpy_helper

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention
from irbench.optimizer.passes.fuse_gelu import fuse_gelu
from irbench.optimizer.passes.normalization.fuse_layer_normalization import fuse_layer_normalization

NORMALISED = """
    m = ReduceMean <keepdims: int = 1> (a, last)  d = Sub (a, m)  q = Mul (d, d)
    v = ReduceMean <keepdims: int = 1> (q, last)  ve = Add (v, eps)  r = Sqrt (ve)  o1 = Div (d, r)
"""
WEIGHTS = {"last": np.array([-1]), "eps": np.float32(1e-5), "true": np.array(True), "three": np.array(3)}
BRANCH = f"""
    y = If (c) <
        then_branch = yes () => (float[] o1) {{ a = Neg (x)  {NORMALISED} }},
        else_branch = no () => (float[] o2) {{ o2 = Neg (x) }}
    >
"""
LOOP = f"""
    y = Loop <body: graph = inner (int64 i, bool again, float[] a) => (bool go, float[] o1)
        {{ {NORMALISED} go = Identity (again) }}> (three, true, x)
"""


def operations(model):
    return [node.op_type for node in model.graph.all_nodes()]


@pytest.mark.parametrize(("body", "feeds"), [(BRANCH, [True, False]), (LOOP, [True])])
def test_a_rule_fuses_in_a_body_what_it_knows_by_inference_there(body, feeds):
    model = graph(f"(float[batch,4] x, bool c) => (float[batch,4] y) {{ {body} }}", WEIGHTS, 18)
    feeds = [{"x": random(2, 4), "c": np.array(c)} for c in feeds]
    before = [answered(model, feed)[0] for feed in feeds]
    assert fuse_layer_normalization(model)
    assert "LayerNormalization" in operations(model)
    onnx.checker.check_model(ir.to_proto(model), full_check=True)
    for feed, expected in zip(feeds, before, strict=True):
        assert np.allclose(answered(model, feed)[0], expected, atol=1e-5)


def test_a_rule_leaves_a_body_alone_of_which_inference_does_not_know_the_rank():
    unknown = BRANCH.replace("a = Neg (x)", "s = NonZero (x)  t = Shape (s)  a = Reshape (x, sizes)")
    signature = "(float[batch,4] x, bool c, int64[k] sizes) => (float[batch,4] y)"
    assert kept(fuse_layer_normalization, graph(f"{signature} {{ {unknown} }}", WEIGHTS, 18))


SCORES = """
    s = MatMul (q, k)  {mask}  w = Softmax (a)  o1 = MatMul (w, v)
"""
MASKS = {
    "an unknown rank": "t = NonZero (q)  a = Add (s, mask)",
    "an unknown size": "a = Add (s, mask)",
    "a size of the data": "z = NonZero (flat)  f = Cast <to: int = 1> (z)  a = Add (s, f)",
}


@pytest.mark.parametrize("case", MASKS)
def test_a_mask_of_which_a_size_is_unknown_in_a_branch_is_never_dropped(case):
    shape = {"an unknown rank": "[]", "an unknown size": "[2,4,?,?]", "a size of the data": ""}[case]
    inputs = f"float[2,4,5,8] q, float[2,4,8,6] k, float[2,4,6,3] v, float{shape} mask, float[n] flat, bool c"
    body = SCORES.format(mask=MASKS[case])
    sides = (
        f"then_branch = yes () => (float[] o1) {{ {body} }}, else_branch = no () => (float[] o2) {{ o2 = Exp (other) }}"
    )
    text = f"({inputs}, float[2,4,5,3] other) => (float[2,4,5,3] y) {{ y = If (c) <{sides}> }}"
    model = graph(text)
    fuse_attention(model)
    added = [node for node in model.graph.all_nodes() if node.op_type == "Add"]
    attentions = [node for node in model.graph.all_nodes() if node.op_type == "Attention"]
    assert added or all(len(node.inputs) > 3 for node in attentions)


def test_a_function_stays_as_it_is():
    half = [numpy_helper.from_array(np.float32(value), "value") for value in (0.5, 1, np.sqrt(2))]
    nodes = [helper.make_node("Constant", [], [f"c{place}"], value=value) for place, value in enumerate(half)]
    nodes += [
        helper.make_node("Div", ["a", "c2"], ["n"]),
        helper.make_node("Erf", ["n"], ["e"]),
        helper.make_node("Add", ["e", "c1"], ["p"]),
        helper.make_node("Mul", ["a", "p"], ["m"]),
        helper.make_node("Mul", ["m", "c0"], ["b"]),
    ]
    model = ir.to_proto(graph("(float[3] x) => (float[3] y) { y = Neg (x) }", opset=20))
    model.graph.node[0].op_type, model.graph.node[0].domain = "Gelu", "own"
    model.functions.append(helper.make_function("own", "Gelu", ["a"], ["b"], nodes, [helper.make_opsetid("", 20)]))
    model.opset_import.append(helper.make_opsetid("own", 1))
    read = ir.from_proto(model)
    assert not fuse_gelu(read)
    (function,) = read.functions.values()
    assert [node.op_type for node in function].count("Erf") == 1
