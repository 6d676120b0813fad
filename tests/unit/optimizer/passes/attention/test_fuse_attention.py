import numpy as np
import onnx
import onnx_ir as ir
import pytest
from graphs import answered, applied, graph, kept, random
from onnx import TensorProto, helper

from irbench.optimizer.passes.attention.fuse_attention import fuse_attention

FEED = {"q": random(2, 4, 5, 8), "k": random(2, 4, 6, 8), "v": random(2, 4, 6, 3)}
NUMBERS = {"s": np.float32(0.3), "t": np.float32(1.5), "low": np.float32(-3e38)}
KEYS = "kt = Transpose <perm: ints = [0, 1, 3, 2]> (k)"
SCORES = f"{KEYS} m = MatMul (q, kt)"
END = "w = Softmax <axis: int = -1> (a)  y = MatMul (w, v)"
SIGNATURE = "float[2,4,5,8] q, float[2,4,6,8] k, float[2,4,6,3] v"


def make(body, inputs=SIGNATURE, output="float[2,4,5,3] y", opset=23, **weights):
    return graph(f"({inputs}) => ({output}) {{ {body} }}", {**NUMBERS, **weights}, opset)


SCALED = {
    "nowhere": f"{KEYS} a = MatMul (q, kt)",
    "in the queries": f"{KEYS} qs = Mul (s, q)  a = MatMul (qs, kt)",
    "in the queries by a quotient": f"{KEYS} qs = Div (q, s)  a = MatMul (qs, kt)",
    "in the scores": f"{SCORES} a = Mul (m, s)",
    "in the scores by a quotient": f"{SCORES} a = Div (m, s)",
    "in both": f"{KEYS} qs = Mul (q, s)  m = MatMul (qs, kt)  a = Div (m, t)",
}


@pytest.mark.parametrize("place", SCALED)
def test_rule_1_takes_a_scale(place):
    assert applied(fuse_attention, make(f"{SCALED[place]} {END}"), FEED) == ["Attention"]


def test_rule_1_transposes_keys_that_came_transposed():
    model = make(f"a = MatMul (q, kt)  {END}", SIGNATURE.replace("float[2,4,6,8] k", "float[2,4,8,6] kt"))
    feed = {"q": FEED["q"], "kt": FEED["k"].swapaxes(2, 3), "v": FEED["v"]}
    assert applied(fuse_attention, model, feed) == ["Transpose", "Attention"]


MASKS = {
    "as large as the scores": (random(2, 4, 5, 6), ["Max"]),
    "of every head": (random(2, 1, 5, 6), ["Max"]),
    "of two axes": (random(5, 6), ["Max"]),
    "of every query": (random(2, 1, 1, 6), ["Max", "Expand"]),
}


@pytest.mark.parametrize("case", MASKS)
def test_rule_1_takes_a_mask(case):
    mask, before = MASKS[case]
    sizes = ",".join(map(str, mask.shape))
    model = make(f"{SCORES} c = Mul (m, s)  a = Add (c, mask)  {END}", f"{SIGNATURE}, float[{sizes}] mask")
    assert applied(fuse_attention, model, {**FEED, "mask": mask}) == [*before, "Attention"]


@pytest.mark.parametrize("row", ["partly", "wholly"])
def test_rule_1_takes_a_choice_of_scores_as_the_mask_even_of_rows_that_are_masked(row):
    keep = np.ones((2, 1, 1, 6), bool)
    keep[1] = row == "partly"
    keep[:, :, :, :2] &= row == "partly"
    model = make(f"{SCORES} c = Mul (m, s)  a = Where (keep, c, low)  {END}", f"{SIGNATURE}, bool[2,1,1,6] keep")
    assert applied(fuse_attention, model, {**FEED, "keep": keep}) == ["Where", "Attention"]


@pytest.mark.parametrize("low", [-1e9, -3e38])
@pytest.mark.parametrize("known", [True, False])
def test_rule_1_weighs_keys_alike_that_are_all_masked_however_large_their_scores(low, known):
    keep = np.array([1, 0], bool).reshape(2, 1, 1, 1) & np.ones((1, 1, 5, 6), bool)
    weights = {"low": np.float32(low), **({"keep": keep} if known else {})}
    inputs = SIGNATURE if known else f"{SIGNATURE}, bool[2,1,5,6] keep"
    model = make(f"{SCORES} a = Where (keep, m, low)  {END}", inputs, **weights)
    feed = {**FEED, "q": FEED["q"] * 1e4, **({} if known else {"keep": keep})}
    assert applied(fuse_attention, model, feed)[-1] == "Attention"


@pytest.mark.parametrize("low", [-1e9, np.finfo(np.float32).min])
@pytest.mark.parametrize("known", [True, False])
def test_rule_1_weighs_keys_alike_to_which_the_same_low_number_is_added(low, known):
    mask = np.where(np.tri(5, 6, k=-2, dtype=bool), 0, np.float32(low))[None, None]
    inputs = SIGNATURE if known else f"{SIGNATURE}, float[1,1,5,6] mask"
    model = make(f"{SCORES} a = Add (m, mask)  {END}", inputs, **({"mask": mask} if known else {}))
    feed = {**FEED, **({} if known else {"mask": mask})}
    assert applied(fuse_attention, model, feed) == [*([] if known else ["Max"]), "Attention"]


def test_rule_1_weighs_keys_alike_that_minus_infinity_hides_all_together():
    keep = np.arange(5).reshape(1, 1, 5, 1) > np.zeros((1, 1, 5, 6))
    model = make(f"{SCORES} a = Where (keep, m, low)  {END}", keep=keep, low=np.float32(-np.inf))
    assert fuse_attention(model)
    for answers in answered(model, FEED):
        assert np.allclose(answers[:, :, 0], FEED["v"].mean(2), atol=1e-5)


def test_rule_1_computes_a_mask_that_is_known_beforehand():
    model = make(f"{SCORES} c = Mul (m, s)  a = Where (keep, c, low)  {END}", keep=np.tri(5, 6, dtype=bool)[None, None])
    assert applied(fuse_attention, model, FEED) == ["Attention"]


def test_rule_1_sees_one_head_where_there_is_no_axis_of_heads():
    body = f"kt = Transpose <perm: ints = [0, 2, 1]> (k)  m = MatMul (q, kt)  a = Mul (m, s)  {END}"
    model = make(body, "float[2,5,8] q, float[2,6,8] k, float[2,6,3] v", "float[2,5,3] y")
    assert applied(fuse_attention, model, {name: value[:, 0] for name, value in FEED.items()}) == ["Attention"]


KEYS_BY_QUERIES = "qt = Transpose <perm: ints = [0, 1, 3, 2]> (q)  m = MatMul (k, qt)  r = Reshape (m, to)"


@pytest.mark.parametrize(("queries", "keys"), [(1, 6), (5, 1)])
def test_rule_1_sees_queries_and_keys_exchanged_by_a_reshape_where_there_is_one_of_them(queries, keys):
    inputs = f"float[2,4,{queries},8] q, float[2,4,{keys},8] k, float[2,4,{keys},3] v"
    body = f"{KEYS_BY_QUERIES}  a = Mul (r, s)  {END}"
    model = make(body, inputs, f"float[2,4,{queries},3] y", to=np.array([2, 4, queries, keys]))
    feed = {"q": FEED["q"][:, :, :queries], "k": FEED["k"][:, :, :keys], "v": FEED["v"][:, :, :keys]}
    assert "Attention" in applied(fuse_attention, model, feed)


def test_rule_1_leaves_scores_whose_elements_a_reshape_puts_elsewhere():
    assert kept(fuse_attention, make(f"{KEYS_BY_QUERIES}  a = Mul (r, s)  {END}", to=np.array([2, 4, 5, 6])))


THREE = "float[2,5,8]"
HEADS = """
    qr = Reshape (q, to)  qh = Transpose <perm: ints = [0, 2, 1, 3]> (qr)
    kr = Reshape (k, to)  kh = Transpose <perm: ints = [0, 2, 3, 1]> (kr)
    vr = Reshape (v, to)  vh = Transpose <perm: ints = [0, 2, 1, 3]> (vr)
    m = MatMul (qh, kh)  a = Mul (m, s)  w = Softmax (a)  o = MatMul (w, vh)
    ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (ot, joined)
"""


@pytest.mark.parametrize("batch", [1, 2, "batch"])
def test_rule_2_leaves_heads_to_the_operation(batch):
    three = f"float[{batch},5,8] "
    weights = {"to": np.array([0, 0, 4, 2]), "joined": np.array([0, 0, 8])}
    model = make(HEADS, f"{three} q, {three} k, {three} v", f"{three} y", **weights)
    size = batch if isinstance(batch, int) else 3
    assert applied(fuse_attention, model, {name: random(size, 5, 8) for name in "qkv"}) == ["Attention"]
    assert next(iter(model.graph)).attributes.get_int("q_num_heads", 0) == 4


def test_rule_2_joins_heads_although_others_read_what_is_split():
    weights = {"to": np.array([0, 0, 4, 2]), "joined": np.array([0, 0, 8])}
    model = make(
        f"{HEADS} z = Relu (kh)", f"{THREE} q, {THREE} k, {THREE} v", f"{THREE} y, float[2,4,2,5] z", **weights
    )
    found = applied(fuse_attention, model, {name: random(2, 5, 8) for name in "qkv"})
    assert sorted(found) == ["Attention", "Relu", "Reshape", "Transpose"]


def test_rule_2_gives_queries_more_heads_than_keys():
    inputs = "float[2,5,8] q, float[2,5,4] k, float[2,5,4] v"
    body = HEADS.replace("Reshape (k, to)", "Reshape (k, few)").replace("Reshape (v, to)", "Reshape (v, few)")
    body = body.split("m = MatMul")[0].replace("[0, 2, 3, 1]", "[0, 2, 1, 3]")
    end = "o = Attention (qh, kh, vh)  ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (ot, joined)"
    weights = {"to": np.array([0, 0, 4, 2]), "few": np.array([0, 0, 2, 2]), "joined": np.array([0, 0, 8])}
    model = make(f"{body} {end}", inputs, "float[2,5,8] y", **weights)
    feed = {"q": random(2, 5, 8), "k": random(2, 5, 4), "v": random(2, 5, 4)}
    assert applied(fuse_attention, model, feed) == ["Attention"]


def test_rule_2_leaves_heads_that_are_joined_in_another_order():
    weights = {"to": np.array([0, 0, 4, 2]), "joined": np.array([0, 4, 10])}
    body = HEADS.replace(
        "ot = Transpose <perm: ints = [0, 2, 1, 3]> (o)  y = Reshape (ot, joined)", "y = Reshape (o, joined)"
    )
    three = "float[2,5,8]"
    model = make(body, f"{three} q, {three} k, {three} v", "float[2,4,10] y", **weights)
    assert "Attention" in (found := applied(fuse_attention, model, {name: random(2, 5, 8) for name in "qkv"}))
    assert len(found) > 1


NOT_ATTENTION = {
    "the softmax is over the queries": f"{SCORES} a = Mul (m, s)  w = Softmax <axis: int = 2> (a)  y = MatMul (w, v)",
    "the scale differs by key": f"{SCORES} a = Mul (m, many)  {END}",
    "the scale is negative": f"{SCORES} a = Mul (m, minus)  {END}",
    "the scale is nought": f"{SCORES} a = Mul (m, nought)  {END}",
    "the scores are divided by nought": f"{SCORES} a = Div (m, nought)  {END}",
    "the queries are divided by nought": (
        f"{KEYS} qs = Div (q, nought)  m = MatMul (qs, kt)  a = Where (keep, m, low)  {END}"
    ),
    "the scale is not a number": f"{SCORES} a = Mul (m, nan)  {END}",
    "what is put for masked scores is not a number": f"{SCORES} a = Where (keep, m, nan)  {END}",
    "what is put for masked scores is not low": f"{SCORES} a = Where (keep, m, t)  {END}",
}


@pytest.mark.parametrize("case", NOT_ATTENTION)
def test_nothing_is_fused_where(case):
    numbers = {"minus": np.float32(-0.3), "nought": np.float32(0), "nan": np.float32(np.nan), "low": np.float32(-1e9)}
    model = make(NOT_ATTENTION[case], f"{SIGNATURE}, bool[2,1,1,6] keep", many=random(6), **numbers)
    assert kept(fuse_attention, model)


LIFTING = {
    "the queries are multiplied with": SCALED["in the queries"],
    "the queries are divided by": SCALED["in the queries by a quotient"],
    "the scores are multiplied with": SCALED["in the scores"],
    "the scores are divided by": SCALED["in the scores by a quotient"],
    "is put for masked scores": f"{SCORES} a = Where (keep, m, low)",
}


@pytest.mark.parametrize("case", LIFTING)
def test_nothing_is_fused_where_the_result_has_an_axis_more_because_of_what(case):
    numbers = {name: number.reshape((1,) * 5) for name, number in NUMBERS.items()}
    keep = np.ones((2, 1, 5, 6), bool)
    assert kept(fuse_attention, make(f"{LIFTING[case]} {END}", output="float[1,2,4,5,3] y", keep=keep, **numbers))


@pytest.mark.parametrize("inner", ["m", "a", "w"])
def test_what_is_an_output_inside_stays(inner):
    assert kept(
        fuse_attention, make(f"{SCORES} a = Mul (m, s)  {END}", output=f"float[2,4,5,3] y, float[2,4,5,6] {inner}")
    )


def test_heads_that_share_keys_stay():
    model = make(f"{SCORES} a = Mul (m, s)  {END}", SIGNATURE.replace("float[2,4,6,8] k", "float[2,1,6,8] k"))
    assert kept(fuse_attention, model)


def test_before_opset_23_there_is_nothing_to_fuse_into():
    assert kept(fuse_attention, make(f"{SCORES} a = Mul (m, s)  {END}", opset=22))


def branched(mask: str) -> ir.Model:
    """Return a model with the pattern in a branch, all it reads from outside, and the shape of nothing inside known."""
    floats = {"q": [2, 4, 5, 8], "kt": [2, 4, 8, 6], "v": [2, 4, 6, 3], "mask": MASKS[mask][0].shape}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in floats.items()]
    inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    nodes = [
        helper.make_node("MatMul", ["q", "kt"], ["m"]),
        helper.make_node("Add", ["m", "mask"], ["a"]),
        helper.make_node("Softmax", ["a"], ["w"]),
        helper.make_node("MatMul", ["w", "v"], ["o1"]),
    ]
    other = [helper.make_node("MatMul", ["q", "kt"], ["p"]), helper.make_node("MatMul", ["p", "v"], ["o2"])]
    open_output = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("o1", "o2")]
    branches = {
        "then_branch": helper.make_graph(nodes, "yes", [], open_output[:1]),
        "else_branch": helper.make_graph(other, "no", [], open_output[1:]),
    }
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 5, 3])
    whole = helper.make_graph([helper.make_node("If", ["c"], ["y"], **branches)], "g", inputs, [output])
    return ir.from_proto(helper.make_model(whole, opset_imports=[helper.make_opsetid("", 23)], ir_version=10))


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_is_kept_in_a_branch_where_the_shape_of_the_scores_is_unknown(mask):
    model = branched(mask)
    keys = FEED["k"].swapaxes(2, 3)
    feeds = [{"q": FEED["q"], "kt": keys, "v": FEED["v"], "mask": 9 * MASKS[mask][0], "c": np.array(c)} for c in (0, 1)]
    feeds = [{**feed, "c": feed["c"].astype(bool)} for feed in feeds]
    before = [answered(model, feed) for feed in feeds]
    fuse_attention(model)
    onnx.checker.check_model(ir.to_proto(model))
    for feed, expected in zip(feeds, before, strict=True):
        for output, two in zip(answered(model, feed), expected, strict=True):
            assert np.allclose(output, two, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("shape", ["[]", "[2,4,?,?]", "[2,?,5,6]"])
def test_a_mask_of_which_a_size_is_unknown_stays(shape):
    assert kept(fuse_attention, make(f"{SCORES} a = Add (m, mask)  {END}", f"{SIGNATURE}, float{shape} mask"))


def test_rule_2_takes_one_head_that_an_axis_was_added_for():
    added = "  ".join(f"{name}h = Unsqueeze ({name}, one)" for name in "qkv")
    body = f"{added}  o = Attention (qh, kh, vh)  y = Squeeze (o, one)"
    model = make(body, f"{THREE} q, {THREE} k, {THREE} v", f"{THREE} y", one=np.array([1]))
    assert applied(fuse_attention, model, {name: random(2, 5, 8) for name in "qkv"}) == ["Attention"]
    assert next(iter(model.graph)).attributes.get_int("q_num_heads", 0) == 1


def test_rule_2_leaves_the_one_head_of_each_sample_that_is_a_sample_of_its_own():
    added = "  ".join(f"{name}h = Unsqueeze ({name}, zero)" for name in "qkv")
    body = f"{added}  o = Attention (qh, kh, vh)  y = Squeeze (o, zero)"
    model = make(body, f"{THREE} q, {THREE} k, {THREE} v", f"{THREE} y", zero=np.array([0]))
    assert kept(fuse_attention, model)
