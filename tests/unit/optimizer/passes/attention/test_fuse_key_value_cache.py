"""Attention that appends keys and values to a cache does so in one node, whatever the sizes, heads and masks."""

import numpy as np
import pytest
from graphs import answered, applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention
from irbench.optimizer.passes.attention.fuse_grouped_queries import fuse_grouped_queries
from irbench.optimizer.passes.attention.fuse_key_value_cache import fuse_key_value_cache
from irbench.optimizer.passes.fold_shapes import fold_shapes
from irbench.optimizer.passes.remove_redundant import remove_redundant

CACHED = "float[batch,2,past,8] pk, float[batch,2,past,6] pv"
NEW = "float[batch,4,tokens,8] q, float[batch,2,tokens,8] k, float[batch,2,tokens,6] v"
OUTPUTS = "float[batch,4,tokens,6] y, float[batch,2,total,8] nk, float[batch,2,total,6] nv"
APPENDED = "nk = Concat <axis: int = 2> (pk, k)  nv = Concat <axis: int = -2> (pv, v)"
ATTENTION = "y = Attention <scale: float = 0.5> (q, nk, nv)"


def make(body, inputs=f"{NEW}, {CACHED}", outputs=OUTPUTS, **weights):
    return graph(f"({inputs}) => ({outputs}) {{ {body} }}", weights)


def feed(batch=2, tokens=3, past=5, **others):
    lengths = {"q": (4, tokens, 8), "k": (2, tokens, 8), "v": (2, tokens, 6), "pk": (2, past, 8), "pv": (2, past, 6)}
    return {**{name: random(batch, *shape) for name, shape in lengths.items()}, **others}


@pytest.mark.parametrize("past", [1, 5, 0])
@pytest.mark.parametrize("tokens", [1, 3])
def test_a_cache_of_any_length_is_appended_to(past, tokens):
    model = make(f"{APPENDED}  {ATTENTION}")
    assert applied(fuse_key_value_cache, model, feed(tokens=tokens, past=past)) == ["Attention"]


@pytest.mark.parametrize("keeps", ["everything", "half", "nothing"])
def test_a_mask_over_cache_and_new_keys_stays(keeps):
    body = f"{APPENDED}  y = Attention (q, nk, nv, mask)"
    model = make(body, f"{NEW}, float[batch,1,tokens,all] mask, {CACHED}")
    low = np.float32(-1e30)
    masks = {"everything": np.zeros(8), "half": np.where(np.arange(8) < 4, low, 0), "nothing": np.full(8, low)}
    mask = np.broadcast_to(masks[keeps].astype(np.float32), (2, 1, 3, 8)).copy()
    assert applied(fuse_key_value_cache, model, feed(mask=mask)) == ["Attention"]


def test_what_reads_a_cache_besides_reads_it_from_the_attention():
    body = f"{APPENDED}  nk2 = Neg (nk)  nv2 = Neg (nv)  {ATTENTION}"
    outputs = OUTPUTS.replace("nk", "nk2").replace("nv", "nv2")
    assert applied(fuse_key_value_cache, make(body, outputs=outputs), feed()) == ["Attention", "Neg", "Neg"]


@pytest.mark.parametrize(
    "body",
    [
        APPENDED.replace("(pk, k)", "(k, pk)") + f"  {ATTENTION}",
        APPENDED.replace("(pv, v)", "(pv, v, v)") + f"  {ATTENTION}",
        f"{APPENDED}  {ATTENTION.replace('scale: float = 0.5', 'is_causal: int = 1')}",
        f"{APPENDED}  {ATTENTION.replace('scale: float = 0.5', 'softcap: float = 2.0')}",
        f"{APPENDED}  s = ReduceSum (nk)  r = Add (q, s)  y = Attention (r, nk, nv)",
    ],
    ids=["new keys before the cache", "three parts", "a diagonal mask", "a cap", "queries made of the new cache"],
)
def test_what_would_mean_something_else_stays(body):
    lengths = "float[batch,4,3,8] q, float[batch,2,3,8] k, float[batch,2,3,6] v"
    outputs = "float[batch,4,3,6] y, float[batch,2,total,8] nk, float[batch,2,total,6] nv"
    assert kept(fuse_key_value_cache, make(body, f"{lengths}, {CACHED.replace('past', '5')}", outputs))


def test_a_cache_that_nobody_reads_again_stays_since_runtimes_ask_for_its_readers():
    model = make(f"{APPENDED}  {ATTENTION}", outputs="float[batch,4,tokens,6] y, float[batch,2,total,8] nk")
    assert kept(fuse_key_value_cache, model)


def test_a_cache_of_another_length_than_that_of_the_values_stays():
    model = make(f"{APPENDED}  {ATTENTION}", f"{NEW}, {CACHED.replace('past,6', 'other,6')}")
    assert kept(fuse_key_value_cache, model)


HEADS = {"four": np.array([0, 0, 4, 4]), "two": np.array([0, 0, 2, 4]), "joined": np.array([0, 0, 16])}
SPLIT = "".join(
    f"s{name} = Reshape ({name}, {heads})  h{name} = Transpose <perm: ints = [0, 2, 1, 3]> (s{name})  "
    for name, heads in (("q", "four"), ("k", "two"), ("v", "two"))
)
REPEATED = "".join(
    f"""n{name} = Concat <axis: int = 2> (p{name}, h{name})  u{name} = Unsqueeze (n{name}, place)
    e{name} = Expand (u{name}, twice)  sh{name} = Shape (n{name})  l{name} = Gather (sh{name}, place)
    t{name} = Concat <axis: int = 0> (same, groups, l{name}, width)  r{name} = Reshape (e{name}, t{name})  """
    for name in "kv"
)
SCORES = "kt = Transpose <perm: ints = [0, 1, 3, 2]> (rk)  m = MatMul (hq, kt)  c = Mul (m, half)"
CAUSAL = """
    ql = Shape <start: int = 1, end: int = 2> (q)  pl = Shape <start: int = 2, end: int = 3> (pk)
    n = Squeeze (ql)  p = Squeeze (pl)  all = Add (n, p)  keys = Range (none, all, one)  rows = Range (p, all, one)
    column = Unsqueeze (rows, one)  keep = LessOrEqual (keys, column)  low = Where (keep, nil, lowest)"""
WHOLE = f"{SPLIT} {REPEATED} {SCORES} {CAUSAL} a = Add (c, low)  w = Softmax (a)  o = MatMul (w, rv)"
WHOLE += "  t = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (t, joined)"
NUMBERS = {
    **HEADS,
    "place": np.array([2]),
    "twice": np.array([1, 1, 2, 1, 1]),
    "same": np.array([0]),
    "groups": np.array([4]),
    "width": np.array([4]),
    "half": np.float32(0.5),
    "nil": np.float32(0),
    "lowest": np.float32(-3.4e38),
    "none": np.array(0),
    "one": np.array(1),
}
SIGNATURE = """(float[batch,tokens,16] q, float[batch,tokens,8] k, float[batch,tokens,8] v, float[batch,2,past,4] pk,
    float[batch,2,past,4] pv) => (float[batch,tokens,16] y, float[batch,2,total,4] nk, float[batch,2,total,4] nv)"""
ORDER = (fold_shapes, remove_redundant, fuse_attention, fuse_grouped_queries, fuse_key_value_cache, fuse_attention)


@pytest.mark.parametrize(("tokens", "past"), [(1, 7), (3, 5), (4, 1), (2, 0)])
def test_grouped_heads_with_a_causal_mask_and_free_sizes_become_one_attention_of_joined_heads(tokens, past):
    model, original = (graph(f"{SIGNATURE} {{ {WHOLE} }}", NUMBERS) for _ in range(2))
    for graph_pass in ORDER:
        graph_pass(model)
    (attention,) = (node for node in model.graph if node.op_type == "Attention")
    assert [attention.attributes.get_int(name) for name in ("q_num_heads", "kv_num_heads")] == [4, 2]
    assert not {"Softmax", "Expand", "Transpose"} & {node.op_type for node in model.graph}
    arrays = {name: random(2, tokens, width) for name, width in (("q", 16), ("k", 8), ("v", 8))}
    arrays |= {name: random(2, 2, past, 4) for name in ("pk", "pv")}
    for found, expected in zip(answered(model, arrays), answered(original, arrays), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
