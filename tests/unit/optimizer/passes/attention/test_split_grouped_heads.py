import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.split_grouped_heads import split_grouped_heads

MASK = "m = Add (s5, mask)"
BODY = """
    s = MatMul (q, k)
    s5 = Reshape (s, apart)
    {masked}
    w = Softmax (m)
    w3 = Reshape (w, together)
    y = MatMul (w3, v)
"""
ONE_HEAD = "(float[2,20,8] q, float[2,8,5] k, float[2,5,8] v, float[2,1,1,5,5] mask) => ({})"
TWO_HEADS = "(float[2,2,10,8] q, float[2,2,8,5] k, float[2,2,5,8] v, float[2,1,1,5,5] mask) => ({})"
SIZES = {
    "one head of keys": (ONE_HEAD, "float[2,20,8] y", [2, 1, 4, 5, 5], [2, 20, 5]),
    "two heads of keys": (TWO_HEADS, "float[2,2,10,8] y", [2, 2, 2, 5, 5], [2, 2, 10, 5]),
}
FEEDS = {
    "one head of keys": {"q": random(2, 20, 8), "k": random(2, 8, 5), "v": random(2, 5, 8)},
    "two heads of keys": {"q": random(2, 2, 10, 8), "k": random(2, 2, 8, 5), "v": random(2, 2, 5, 8)},
}
MASKED = {
    "a sum": MASK,
    "a scale and a sum": "c = Mul (s5, scale)  m = Add (mask, c)",
    "a choice": "b = Cast <to: int = 9> (mask)  m = Where (b, s5, low)",
}


def make(case, masked=MASK, output=None, signature=None, body=BODY):
    given, own, apart, together = SIZES[case]
    weights = {"apart": np.array(apart), "together": np.array(together), "low": np.float32(-1e9)}
    weights["scale"] = np.float32(0.3)
    text = (signature or given).format(output or own)
    return graph(f"{text} {{ {body.format(masked=masked)} }}", weights)


def feed(case):
    return {**FEEDS[case], "mask": np.triu(np.full((2, 1, 1, 5, 5), -3, np.float32), 1)}


@pytest.mark.parametrize("case", SIZES)
@pytest.mark.parametrize("masked", MASKED)
def test_rule_1_gives_each_head_its_own_products(case, masked):
    model = make(case, MASKED[masked])
    found = applied(split_grouped_heads, model, feed(case))
    assert found.count("Expand") == 2
    products = [node for node in model.graph if node.op_type == "MatMul"]
    assert [list(node.outputs[0].shape) for node in products] == [[2, 4, 5, 5], [2, 4, 5, 8]]


def test_leading_axes_may_be_merged_before_one_product_alone():
    signature = TWO_HEADS.replace("float[2,2,10,8] q, float[2,2,8,5] k", "float[4,10,8] q, float[4,8,5] k")
    feeds = feed("two heads of keys")
    feeds |= {"q": feeds["q"].reshape(4, 10, 8), "k": feeds["k"].reshape(4, 8, 5)}
    assert applied(split_grouped_heads, make("two heads of keys", signature=signature), feeds).count("Expand") == 2


def test_batch_and_length_may_be_dynamic():
    signature = "(float[b,r,8] q, float[b,8,n] k, float[b,n,8] v, float[b,1,1,n,n] mask) => ({})"
    signature = signature.replace("float[b,r,8] q", "float[b,n,4,8] q0")
    turned = "t = Transpose <perm: ints = [0, 2, 1, 3]> (q0)  q = Reshape (t, rows)"
    body = f"{turned} {BODY}".replace("apart)", "a)").replace("together)", "t3)")
    weights = {"rows": np.array([0, -1, 8]), "a": np.array([0, 1, 4, -1, 5]), "t3": np.array([0, -1, 5])}
    signature = signature.replace("n", "5").replace("b,5,4,8] q0", "b,5,4,8] q0")
    model = graph(f"{signature.format('float[b,20,8] y')} {{ {body.format(masked=MASK)} }}", weights)
    feeds = feed("one head of keys")
    feeds["q0"] = feeds.pop("q").reshape(2, 4, 5, 8).transpose(0, 2, 1, 3).copy()
    assert applied(split_grouped_heads, model, feeds).count("Expand") == 2


NOT_GROUPED = {
    "there is no softmax": {"body": BODY.replace("Softmax", "Relu")},
    "somebody else reads the scores": {"output": "float[2,20,8] y, float[2,20,5] s"},
    "somebody else reads the weights": {"output": "float[2,20,8] y, float[2,1,4,5,5] w"},
    "something else is done to the scores": {"masked": "t = Tanh (s5)  m = Add (t, mask)"},
    "all samples have the same queries": {"signature": ONE_HEAD.replace("float[2,20,8] q", "float[1,20,8] q")},
    "all samples have the same keys": {"signature": ONE_HEAD.replace("float[2,8,5] k", "float[1,8,5] k")},
    "all samples have the same values": {"signature": ONE_HEAD.replace("float[2,5,8] v", "float[5,8] v")},
}


@pytest.mark.parametrize("case", NOT_GROUPED)
def test_products_stay_where(case):
    assert kept(split_grouped_heads, make("one head of keys", **NOT_GROUPED[case]))


def test_products_stay_where_sizes_are_unknown():
    model = make("one head of keys")
    for value in model.graph.inputs:
        value.shape = None
    assert kept(split_grouped_heads, model)
