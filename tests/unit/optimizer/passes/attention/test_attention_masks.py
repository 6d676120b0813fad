import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention

FEED = {"q": random(2, 4, 5, 8), "k": random(2, 4, 6, 8), "v": random(2, 4, 6, 3)}
NUMBERS = {"s": np.float32(0.3), "t": np.float32(1.5), "low": np.float32(-3e38), "zero": np.float32(0)}
SCORES = "kt = Transpose <perm: ints = [0, 1, 3, 2]> (k)  m = MatMul (q, kt)"
END = "w = Softmax <axis: int = -1> (a)  y = MatMul (w, v)"
SIGNATURE = "float[2,4,5,8] q, float[2,4,6,8] k, float[2,4,6,3] v"
HEADS = """
    qr = Reshape (q, to)  qh = Transpose <perm: ints = [0, 2, 1, 3]> (qr)
    kr = Reshape (k, to)  kh = Transpose <perm: ints = [0, 2, 3, 1]> (kr)
    vr = Reshape (v, to)  vh = Transpose <perm: ints = [0, 2, 1, 3]> (vr)
    m = MatMul (qh, kh)  a = Mul (m, s)  b = Where (keep, a, low)  p = Softmax (b)  w = Where (keep, p, zero)
    o = MatMul (w, vh)  ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (ot, joined)
"""


def make(body, inputs=SIGNATURE, output="float[2,4,5,3] y", **weights):
    return graph(f"({inputs}) => ({output}) {{ {body} }}", {**NUMBERS, **weights})


KEEPS = {
    "every key": np.ones((2, 1, 1, 6), bool),
    "no key": np.zeros((2, 1, 1, 6), bool),
    "half of the keys": np.broadcast_to(np.arange(6) < 3, (2, 1, 1, 6)),
    "all keys of one sample": np.broadcast_to(np.arange(2).reshape(2, 1, 1, 1) > 0, (2, 1, 1, 6)),
    "other keys for each query": random(2, 1, 5, 6) > 0.8,
    "other keys for each head": random(2, 4, 5, 6) > 0.8,
}
BOTH = "a = Where (keep, m, low)  p = Softmax (a)  w = Where (keep, p, zero)  y = MatMul (w, v)"


def choosing(body, keep, **weights):
    sizes = ",".join(map(str, keep.shape))
    return make(body, f"{SIGNATURE}, bool[{sizes}] keep", **weights)


@pytest.mark.parametrize("case", KEEPS)
def test_rule_1_takes_a_choice_of_scores_and_of_weights(case):
    keep = KEEPS[case]
    found = applied(fuse_attention, choosing(f"{SCORES} {BOTH}", keep), {**FEED, "keep": keep})
    assert found == ["Where", "ReduceMax", "Attention", "Where"]


def test_rule_1_puts_no_row_to_zero_of_which_a_key_is_known_to_be_kept():
    keep = np.tri(5, 6, dtype=bool)[None, None]
    model = make(f"{SCORES} {BOTH}", keep=keep)
    assert applied(fuse_attention, model, FEED) == ["Attention"]


@pytest.mark.parametrize("case", KEEPS)
def test_rule_1_takes_a_choice_that_is_written_the_other_way_round(case):
    body = f"{SCORES} a = Where (hide, low, m)  p = Softmax (a)  w = Where (hide, zero, p)  y = MatMul (w, v)"
    model = choosing(body.replace("hide", "keep"), KEEPS[case])
    found = applied(fuse_attention, model, {**FEED, "keep": ~KEEPS[case]})
    assert "Attention" in found
    assert "Softmax" not in found


TURN = "Transpose <perm: ints = [0, 1, 3, 2]>"
TURNED = {
    "before the softmax": f"kq = MatMul (k, qt)  m = {TURN} (kq)  w = Softmax (m)",
    "behind the softmax": f"kq = MatMul (k, qt)  u = Softmax <axis: int = 2> (kq)  w = {TURN} (u)",
    "around a scale and a mask": "kq = MatMul (k, qt)  s1 = Mul (kq, s)  n = Add (s1, mask)  "
    f"u = Softmax <axis: int = 2> (n)  w = {TURN} (u)",
}


@pytest.mark.parametrize("place", TURNED)
def test_rule_1_sees_keys_times_queries_exchanged(place):
    body = f"qt = Transpose <perm: ints = [0, 1, 3, 2]> (q)  {TURNED[place]}  y = MatMul (w, v)"
    feed = {**FEED, **({"mask": random(2, 1, 6, 1)} if "mask" in body else {})}
    model = make(body, f"{SIGNATURE}, float[2,1,6,1] mask" if "mask" in body else SIGNATURE)
    found = applied(fuse_attention, model, feed)
    assert [name for name in found if name != "Transpose"] == (["Max", "Expand"] if "mask" in body else []) + [
        "Attention"
    ]


def test_rule_1_leaves_keys_times_queries_with_a_softmax_over_the_queries():
    turned = TURNED["behind the softmax"].replace("axis: int = 2", "axis: int = 3")
    assert kept(fuse_attention, make(f"qt = {TURN} (q)  {turned}  y = MatMul (w, v)"))


def test_rule_1_takes_a_bias_of_every_head():
    model = make(f"{SCORES} a = Add (m, bias)  {END}", bias=random(4, 5, 6))
    assert applied(fuse_attention, model, FEED) == ["Attention"]


SHIFTED = "n = Reshape (m, apart)  a = Add (n, mask)  j = Reshape (a, together)  w = Softmax (j)  y = MatMul (w, v)"
APART = {"apart": np.array([1, 2, 4, 5, 6]), "together": np.array([2, 4, 5, 6])}


@pytest.mark.parametrize("known", [True, False])
def test_rule_1_takes_a_mask_beside_scores_whose_batch_was_taken_apart(known):
    mask = np.where(random(1, 2, 1, 5, 6) > 0, 0, np.float32(-100))
    inputs = SIGNATURE if known else f"{SIGNATURE}, float[1,2,1,5,6] mask"
    model = make(f"{SCORES} {SHIFTED}", inputs, **APART, **({"mask": mask} if known else {}))
    found = applied(fuse_attention, model, {**FEED, **({} if known else {"mask": mask})})
    assert found == [*([] if known else ["Reshape", "Max"]), "Attention"]


@pytest.mark.parametrize("sizes", [(2, 1, 1, 5, 6), (2, 2, 1, 5, 6), (1, 2, 2, 5, 6)])
def test_rule_1_takes_a_mask_beside_scores_whose_heads_were_taken_apart(sizes):
    apart = {"apart": np.array([2, 2, 2, 5, 6]), "together": np.array([2, 4, 5, 6])}
    model = make(f"{SCORES} {SHIFTED}", **apart, mask=random(*sizes))
    assert applied(fuse_attention, model, FEED) == ["Attention"]


def test_rule_1_takes_a_mask_beside_scores_whose_batch_and_heads_were_joined():
    apart = {"apart": np.array([8, 5, 6]), "together": np.array([2, 4, 5, 6])}
    model = make(f"{SCORES} {SHIFTED}", **apart, mask=random(8, 5, 6))
    assert applied(fuse_attention, model, FEED) == ["Attention"]


@pytest.mark.parametrize("case", KEEPS)
def test_rule_1_takes_a_bias_below_a_choice(case):
    body = f"{SCORES} c = Mul (m, s)  b = Add (c, bias)  {BOTH.replace('(keep, m', '(keep, b')}"
    model = choosing(body, KEEPS[case], bias=random(1, 4, 1, 6))
    assert "Attention" in applied(fuse_attention, model, {**FEED, "keep": KEEPS[case]})


def test_rule_1_takes_biases_that_are_scaled_and_subtracted():
    body = f"{SCORES} b = Sub (m, bias)  c = Mul (b, t)  a = Add (c, other)  {END}"
    model = make(body, bias=random(1, 4, 5, 6), other=random(4, 1, 6))
    assert applied(fuse_attention, model, FEED) == ["Attention"]


@pytest.mark.parametrize("case", KEEPS)
def test_rule_1_takes_a_bias_that_is_computed_below_a_choice(case):
    body = f"{SCORES} o = MatMul (q, rows)  g = Gather <axis: int = 3> (o, places)  b = Add (m, g)  "
    model = choosing(
        body + BOTH.replace("(keep, m", "(keep, b"), KEEPS[case], rows=random(8, 3), places=np.array([0, 2, 1, 1, 0, 2])
    )
    found = applied(fuse_attention, model, {**FEED, "keep": KEEPS[case]})
    assert "Attention" in found
    assert "Max" not in found


MOVED = {
    "tiled": "g = Tile (o, twice)",
    "under another name": "t1 = Tile (o, twice)  g = Identity (t1)",
    "zero above the diagonal": "t1 = Gather <axis: int = 3> (o, places)  g = Trilu <upper: int = 0> (t1)",
}


@pytest.mark.parametrize("case", MOVED)
def test_rule_1_takes_a_computed_bias_below_a_choice_that_is(case):
    body = f"{SCORES} o = MatMul (q, rows)  {MOVED[case]}  b = Add (m, g)  {BOTH.replace('(keep, m', '(keep, b')}"
    keep = KEEPS["half of the keys"]
    places = {"twice": np.array([1, 1, 1, 2]), "places": np.array([0, 2, 1, 1, 0, 2])}
    model = choosing(body, keep, rows=random(8, 3), **{name: places[name] for name in places if name in body})
    assert "Attention" in applied(fuse_attention, model, {**FEED, "keep": keep})


def test_rule_1_takes_two_choices():
    body = f"{SCORES} b = Where (other, m, low)  {BOTH.replace('(keep, m', '(keep, b').split('  p =')[0]}  {END}"
    model = make(body, f"{SIGNATURE}, bool[2,1,1,6] keep, bool[1,1,5,6] other")
    feed = {**FEED, "keep": KEEPS["half of the keys"], "other": np.tri(5, 6, dtype=bool)[None, None]}
    assert applied(fuse_attention, model, feed) == ["And", "Where", "Attention"]


LEFT = {
    "weights are put to zero under another condition": BOTH.replace("Where (keep, p", "Where (other, p"),
    "weights are put to zero where scores are kept": BOTH.replace("(keep, p, zero)", "(keep, zero, p)"),
    "weights are put to zero and no score is hidden": BOTH.replace("Where (keep, m, low)", "Identity (m)"),
    "a mask is added below a choice": f"b = Add (m, mask)  {BOTH.replace('(keep, m', '(keep, b')}",
    "a bias that a cast makes infinite is added below a choice": (
        "h = Cast <to: int = 10> (large)  f = Cast <to: int = 1> (h)  b = Add (m, f)  "
        + BOTH.replace("(keep, m", "(keep, b")
    ),
    "numbers that are low together are added below a choice": (
        "f = Cast <to: int = 1> (other)  g = Mul (f, part)  h = Mul (g, part)  b = Add (m, h)  "
        + BOTH.replace("(keep, m", "(keep, b")
    ),
    "an exponential that is low is added below a choice": (
        "f = Cast <to: int = 1> (other)  g = Mul (f, exponent)  e = Exp (g)  h = Neg (e)  b = Add (m, h)  "
        + BOTH.replace("(keep, m", "(keep, b")
    ),
    "an integer that is low is added below a choice": (
        "f = Cast <to: int = 7> (other)  g = Mul (f, whole)  h = Cast <to: int = 1> (g)  b = Add (m, h)  "
        + BOTH.replace("(keep, m", "(keep, b")
    ),
    "a mask that was an integer for a while is added below a choice": (
        "f = Cast <to: int = 7> (mask)  h = Cast <to: int = 1> (f)  b = Add (m, h)  "
        + BOTH.replace("(keep, m", "(keep, b")
    ),
    "a mask is added above a choice": f"c = Where (keep, m, low)  a = Add (c, mask)  {END}",
    "a choice is scaled": f"c = Where (keep, m, low)  a = Mul (c, s)  {END}",
    "two choices put different numbers": f"b = Where (other, m, lower)  a = Where (keep, b, low)  {END}",
    "others read the weights": f"{BOTH}  z = Relu (w)",
    "others read the scores": f"{BOTH}  z = Relu (m)",
}


@pytest.mark.parametrize("case", LEFT)
def test_nothing_is_fused_as_long_as(case):
    inputs = f"{SIGNATURE}, bool[2,1,1,6] keep, bool[2,1,1,6] other, float[2,1,5,6] mask"
    output = "float[2,4,5,3] y" + (", float[2,4,5,6] z" if "z = " in LEFT[case] else "")
    weights = {"low": np.float32(-1e9), "lower": np.float32(-2e9), "large": np.full(6, -1e5, np.float32)}
    weights |= {"part": np.float32(-1e5), "whole": np.int64(-(10**9)), "exponent": np.float32(25)}
    assert kept(fuse_attention, make(f"{SCORES} {LEFT[case]}", inputs, output, **weights))


@pytest.mark.parametrize(
    "case", ["half of the keys", "no key", "other keys for each query", "other keys for each head"]
)
def test_rule_2_joins_heads_of_which_rows_are_put_to_zero(case):
    keep = KEEPS[case][..., :5]
    weights = {"to": np.array([0, 0, 4, 2]), "joined": np.array([0, 0, 8])}
    signature = f"float[2,5,8] q, float[2,5,8] k, float[2,5,8] v, bool[{','.join(map(str, keep.shape))}] keep"
    model = make(HEADS, signature, "float[2,5,8] y", **weights)
    found = applied(fuse_attention, model, {**{name: random(2, 5, 8) for name in "qkv"}, "keep": keep})
    assert ("Transpose" in found) == (keep.shape[1] != 1)


@pytest.mark.parametrize("axes", [0, 3, 4])
def test_rule_2_joins_heads_beside_a_zero_of_no_more_axes_than_the_joined_heads(axes):
    weights = {"to": np.array([0, 0, 4, 2]), "joined": np.array([0, 0, 8]), "zero": np.zeros((1,) * axes, np.float32)}
    split = "{0}r = Reshape ({0}, to)  {0}h = Transpose <perm: ints = [0, 2, 1, 3]> ({0}r)"
    body = "  ".join(split.format(name) for name in "qkv") + "  a = Attention (qh, kh, vh)  o = Where (rows, a, zero)"
    body += "  ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (ot, joined)"
    signature = "float[2,5,8] q, float[2,5,8] k, float[2,5,8] v, bool[2,1,5,1] rows"
    model = make(body, signature, "float[2,5,8] y", **weights)
    if axes == 4:
        assert kept(fuse_attention, model)
    else:
        feed = {**{name: random(2, 5, 8) for name in "qkv"}, "rows": random(2, 1, 5, 1) > 0.5}
        assert applied(fuse_attention, model, feed) == ["Attention", "Squeeze", "Where"]


def test_a_table_that_is_cut_to_the_length_is_a_mask():
    length = "sh = Shape <start: int = 2, end: int = 3> (q)"
    cut = f"{length}  t1 = Slice (table, none, sh, last)  keep = Slice (t1, none, sh, third)"
    inputs = "float[n,4,t,8] q, float[n,4,t,8] k, float[n,4,t,3] v"
    model = make(
        f"{cut}  {SCORES} a = Where (keep, m, low)  {END}",
        inputs,
        "float[n,4,t,3] y",
        table=np.tri(9, dtype=bool)[None, None],
        none=np.array([0]),
        last=np.array([3]),
        third=np.array([2]),
    )
    feed = {"q": random(2, 4, 5, 8), "k": random(2, 4, 5, 8), "v": random(2, 4, 5, 3)}
    assert applied(fuse_attention, model, feed) == ["Shape", "Slice", "Slice", "Where", "Attention"]


def test_a_mask_is_stretched_along_a_dynamic_length():
    body = f"{SCORES} a = Where (keep, m, low)  {END}"
    inputs = "float[n,4,t,8] q, float[n,4,t,8] k, float[n,4,t,3] v, bool[n,1,1,t] keep"
    model = make(body, inputs, "float[n,4,t,3] y")
    feed = {"q": random(2, 4, 5, 8), "k": random(2, 4, 5, 8), "v": random(2, 4, 5, 3)}
    found = applied(fuse_attention, model, {**feed, "keep": KEEPS["half of the keys"][..., 1:]})
    assert found[-1] == "Attention"
    assert "Expand" in found
