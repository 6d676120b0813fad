import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.attention.pack_attention import pack_attention
from irbench.optimizer.passes.fuse_bias_gelu import fuse_bias_gelu
from irbench.optimizer.passes.normalization.fuse_skip_layer_normalization import fuse_skip_layer_normalization

X, SKIP = random(2, 5, 8), random(2, 5, 8) * 2
NORM = {"scale": random(8), "shift": random(8), "bias": random(8) * 3}
SIGNATURE = "(float[2,5,8] x, float[2,5,8] skip)"
FUSED_NORM, ATTENTION = "com.microsoft.SkipLayerNormalization", "com.microsoft.Attention"


def norm(body, output="float[2,5,8] y", signature=SIGNATURE, **weights):
    return graph(f"{signature} => ({output}) {{ {body} }}", {**NORM, **weights})


LAYER = "y = LayerNormalization <epsilon: float = 0.001> (s, scale, shift)"


def test_a_sum_and_its_normalisation_are_one_node_by_rule_1():
    model = norm(f"s = Add (x, skip)  {LAYER}")
    assert applied(fuse_skip_layer_normalization, model, {"x": X, "skip": SKIP}) == [FUSED_NORM]


@pytest.mark.parametrize("biased", ["b = Add (x, bias)  s = Add (b, skip)", "b = Add (bias, x)  s = Add (skip, b)"])
def test_a_bias_before_the_sum_goes_along_by_rule_2(biased):
    assert applied(fuse_skip_layer_normalization, norm(f"{biased}  {LAYER}"), {"x": X, "skip": SKIP}) == [FUSED_NORM]


@pytest.mark.parametrize("reader", ["z = Relu (s)", "z = Identity (s)"])
def test_a_sum_that_is_read_later_comes_from_the_fused_node(reader):
    model = norm(f"s = Add (x, skip)  {LAYER}  {reader}", "float[2,5,8] y, float[2,5,8] z")
    found = applied(fuse_skip_layer_normalization, model, {"x": X, "skip": SKIP})
    assert found[0] == FUSED_NORM
    assert len(found) == 2


def test_a_sum_that_is_an_output_comes_from_the_fused_node():
    model = norm(f"s = Add (x, skip)  {LAYER}", "float[2,5,8] y, float[2,5,8] s")
    assert applied(fuse_skip_layer_normalization, model, {"x": X, "skip": SKIP}) == [FUSED_NORM]


NO_SKIP = {
    "the sum stretches": (f"s = Add (x, row)  {LAYER}", SIGNATURE),
    "the sum is read before": (f"s = Add (x, skip)  z = Relu (s)  {LAYER}", SIGNATURE),
    "more axes are normalised": (f"s = Add (x, skip)  {LAYER.replace('<', '<axis: int = 1, ')}", SIGNATURE),
    "there are four axes": (f"s = Add (x, skip)  {LAYER}", SIGNATURE.replace("[2,5,8]", "[2,3,5,8]")),
    "the scale is stretched": (f"s = Add (x, skip)  {LAYER.replace('scale', 'one')}", SIGNATURE),
    "the shift is stretched": (f"s = Add (x, skip)  {LAYER.replace('shift', 'one')}", SIGNATURE),
    "the numbers are float64": (f"s = Add (x, skip)  {LAYER}", SIGNATURE.replace("float", "double")),
    "there is no shift": (f"s = Add (x, skip)  {LAYER.replace(', shift', '')}", SIGNATURE),
}


@pytest.mark.parametrize("case", NO_SKIP)
def test_no_residual_connection_is_fused_where(case):
    body, signature = NO_SKIP[case]
    weights = {"scale": random(5, 8), "shift": random(5, 8)} if "axis" in body else {}
    output = "float[a,b,c,d] y" if "3,5" in signature else "float[2,5,8] y"
    weights |= {name: item.astype(np.float64) for name, item in NORM.items() if "double" in signature}
    output += ", float[2,5,8] z" if "z =" in body else ""
    weights |= {"row": random(5, 8), "one": random(1)}
    assert kept(fuse_skip_layer_normalization, norm(body, output, signature, **weights))


def test_a_bias_that_is_stretched_stays_before_the_fused_node():
    model = norm(f"b = Add (x, one)  s = Add (b, skip)  {LAYER}", one=random(1))
    assert applied(fuse_skip_layer_normalization, model, {"x": X, "skip": SKIP}) == ["Add", FUSED_NORM]


@pytest.mark.parametrize(("form", "fused"), [("none", "BiasGelu"), ("tanh", "FastGelu")])
def test_a_bias_and_its_gelu_are_one_node_by_rules_1_and_2(form, fused):
    model = norm(f's = Add (bias, x)  y = Gelu <approximate: string = "{form}"> (s)')
    assert applied(fuse_bias_gelu, model, {"x": X, "skip": SKIP}, atol=1e-4) == [f"com.microsoft.{fused}"]


@pytest.mark.parametrize("other", ["skip", "row", "one"])
def test_what_is_no_bias_is_not_fused_with_a_gelu(other):
    assert kept(fuse_bias_gelu, norm(f"s = Add (x, {other}) y = Gelu (s)", row=random(5, 8), one=random(1)))


def test_a_bias_in_float64_is_not_fused_with_a_gelu():
    signature, bias = SIGNATURE.replace("float", "double"), NORM["bias"].astype(np.float64)
    assert kept(fuse_bias_gelu, norm("s = Add (x, bias) y = Gelu (s)", "double[2,5,8] y", signature, bias=bias))


def test_a_biased_value_that_is_an_output_is_not_fused_with_a_gelu():
    assert kept(fuse_bias_gelu, norm("s = Add (x, bias)  y = Gelu (s)", "float[2,5,8] y, float[2,5,8] s"))


PROJECTIONS = {f"w{item}": random(8, 8) + place for place, item in enumerate("qkv")}
PROJECTIONS |= {f"b{item}": random(8) * (1 + place) for place, item in enumerate("qkv")}
PRODUCTS = " ".join(f"p{item} = MatMul (x, w{item})" for item in "qkv")
SUMS = " ".join(f"{item} = Add (p{item}, b{item})" for item in "qkv")
ATTEND = "y = Attention <q_num_heads: int = 4, kv_num_heads: int = 4, scale: float = {scale}> (q, k, v{mask})"


def attention(body, scale=0.7, mask="", signature=SIGNATURE, **weights):
    text = f"{body} {ATTEND.format(scale=scale, mask=mask)}"
    return graph(f"{signature} => (float[2,5,8] y) {{ {text} }}", {**PROJECTIONS, **weights})


@pytest.mark.parametrize("scale", [8**-0.5, 0.1])
def test_attention_takes_its_projections_in_by_rule_1(scale):
    model = attention(f"{PRODUCTS} {SUMS}", scale)
    assert applied(pack_attention, model, {"x": X * 0.1, "skip": SKIP}, atol=1e-4) == [ATTENTION]
    assert set(next(iter(model.graph)).attributes) == {"num_heads"}


def test_attention_takes_projections_without_bias_by_rule_1():
    body = PRODUCTS.replace("pq", "q").replace("pk", "k").replace("pv", "v")
    assert applied(pack_attention, attention(body), {"x": X * 0.1, "skip": SKIP}, atol=1e-4) == [ATTENTION]


def test_attention_keeps_its_mask_by_rule_1():
    model = attention(f"{PRODUCTS} {SUMS}", mask=", m", m=random(2, 1, 5, 5))
    assert applied(pack_attention, model, {"x": X * 0.1, "skip": SKIP}, atol=1e-4) == [ATTENTION]


PACKED = {"all": random(8, 24), "row": random(24)}
SPLIT = "q, k, v = Split <axis: int = {axis}, num_outputs: int = 3> ({source})"


@pytest.mark.parametrize("axis", [-1, 2])
@pytest.mark.parametrize(
    "body", ["p = MatMul (x, all)  s = Add (p, row)", "s = MatMul (x, all)"], ids=["bias", "no bias"]
)
def test_attention_takes_in_one_projection_that_is_split_by_rule_1(body, axis):
    model = attention(f"{body}  {SPLIT.format(axis=axis, source='s')}", **PACKED)
    assert applied(pack_attention, model, {"x": X * 0.1, "skip": SKIP}, atol=1e-4) == [ATTENTION]


@pytest.mark.parametrize(
    "split", ["q, k, v = Split <axis: int = 1> (s, fives)", "k, q, v = Split <axis: int = 2> (s, unequal)"]
)
def test_attention_leaves_what_is_split_and_is_no_projection_or_along_another_axis(split):
    weights = {**PACKED, "long": random(15, 5), "fives": np.array([5, 5, 5]), "unequal": np.array([8, 8, 8])}
    body = (
        f"l = MatMul (long, x)  s = Relu (l)  {split}"
        if "fives" in split
        else f"p = MatMul (x, all)  s = Relu (p)  {split}"
    )
    assert kept(pack_attention, attention(body, **weights))


@pytest.mark.parametrize("mask", [{}, {"m": random(2, 1, 5, 5)}], ids=["no mask", "mask"])
@pytest.mark.parametrize("keys", ["with a bias", "without one"])
def test_attention_between_two_sequences_takes_the_biases_in_by_rule_2(mask, keys):
    products, sums = PRODUCTS.replace("MatMul (x, wq)", "MatMul (skip, wq)"), SUMS
    if keys == "without one":
        products, sums = products.replace("pk", "k"), SUMS.replace("k = Add (pk, bk)", "")
    model = attention(f"{products} {sums}", mask=", m" if mask else "", **mask)
    found = applied(pack_attention, model, {"x": X * 0.1, "skip": SKIP}, atol=1e-4)
    assert sorted(found) == ["MatMul", "MatMul", "MatMul", "com.microsoft.MultiHeadAttention"]


NOT_PACKED = {
    "a bias stretches over the steps": (f"{PRODUCTS} {SUMS}", {"bq": random(5, 8)}),
    "only some have a bias and the sources differ": (
        f"{PRODUCTS.replace('(x, wq)', '(skip, wq)').replace('pq', 'q')} k = Add (pk, bk) v = Add (pv, bv)",
        {},
    ),
    "the biases are stretched": (f"{PRODUCTS} {SUMS}", {f"b{item}": random(1) for item in "qkv"}),
    "the mask says which to keep": (f"{PRODUCTS} {SUMS}", {"m": np.ones((2, 1, 5, 5), bool)}),
    "the mask has two axes": (f"{PRODUCTS} {SUMS}", {"m": random(5, 5)}),
    "the mask is stretched over the queries": (f"{PRODUCTS} {SUMS}", {"m": random(2, 1, 1, 5)}),
}


@pytest.mark.parametrize("case", NOT_PACKED)
def test_attention_is_left_where(case):
    body, weights = NOT_PACKED[case]
    assert kept(pack_attention, attention(body, mask=", m" if "m" in weights else "", **weights))


@pytest.mark.parametrize("shape", ["[]", "[2,1,?,?]", "[2,1,queries,keys]", "[masks,1,5,5]"])
def test_attention_is_left_where_it_is_not_known_how_large_the_mask_is(shape):
    signature = SIGNATURE.replace(")", f", float{shape} m)")
    assert kept(pack_attention, attention(f"{PRODUCTS} {SUMS}", mask=", m", signature=signature))


def test_attention_is_left_where_its_scale_is_nought():
    assert kept(pack_attention, attention(f"{PRODUCTS} {SUMS}", scale="0.0"))


def test_attention_in_float64_is_left():
    weights = {name: projection.astype(np.float64) for name, projection in PROJECTIONS.items()}
    text = f"{PRODUCTS} {SUMS} {ATTEND.format(scale=0.5, mask='')}"
    signature = SIGNATURE.replace("float", "double")
    assert kept(pack_attention, graph(f"{signature} => (double[2,5,8] y) {{ {text} }}", weights))


def test_a_projection_that_somebody_else_reads_stays():
    body = f"{PRODUCTS} {SUMS}"
    text = f"{body} {ATTEND.format(scale=0.5, mask='')} z = Relu (k)"
    model = graph(f"{SIGNATURE} => (float[2,5,8] y, float[2,5,8] z) {{ {text} }}", PROJECTIONS)
    assert kept(pack_attention, model)
