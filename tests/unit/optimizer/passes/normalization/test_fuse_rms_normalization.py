import numpy as np
import pytest
from combinations import every_pair
from graphs import answered, applied, graph, kept, random

from irbench.optimizer.passes.normalization.fuse_rms_normalization import fuse_rms_normalization

X = random(2, 3, 8)
EPSILON = np.float32(1e-6)
WEIGHTS = {"axes": np.array([-1]), "eps": EPSILON, "scale": random(8), "two": np.float32(2), "one": np.float32(1)}
WEIGHTS |= {"exponent": np.float32(-0.5)}
SQUARES = {"a product": "square = Mul (x, x)", "a power": "square = Pow (x, two)"}
SPREAD = "mean = ReduceMean <keepdims: int = 1> (square, axes)  spread = Add (mean, eps)"
INVERSES = {
    "a reciprocal": "root = Sqrt (spread)  inverse = Reciprocal (root)",
    "a quotient": "root = Sqrt (spread)  inverse = Div (one, root)",
    "a power": "inverse = Pow (spread, exponent)",
}
SCALED = {
    "the scale first": "factor = Mul (inverse, scale)  y = Mul (x, factor)",
    "the scale last": "norm = Mul (x, inverse)  y = Mul (norm, scale)",
    "the other orders": "factor = Mul (scale, inverse)  y = Mul (factor, x)",
    "the scale last, in the other order": "norm = Mul (inverse, x)  y = Mul (scale, norm)",
    "no scale": "y = Mul (x, inverse)",
}


def make(body, weights=None, inputs="float[2,3,8] x", output="float[2,3,8] y", opset=23):
    return graph(
        f"({inputs}) => ({output}) {{ {body} }}", {**WEIGHTS, "exponent": np.float32(-0.5), **(weights or {})}, opset
    )


def whole(square="a product", inverse="a reciprocal", scaled="the scale first"):
    return f"{SQUARES[square]}  {SPREAD}  {INVERSES[inverse]}  {SCALED[scaled]}"


FEEDS = {"random": X, "zeros": X * 0, "large offsets": X + 10_000, "large": X * 1e6, "constant rows": X * 0 + 3}


@pytest.mark.parametrize(("square", "inverse", "scaled"), every_pair(SQUARES, INVERSES, SCALED))
def test_rules_1_to_3_fuse(square, inverse, scaled):
    model = make(whole(square, inverse, scaled))
    assert applied(fuse_rms_normalization, model, {"x": X}) == ["RMSNormalization"]


@pytest.mark.parametrize("feed", FEEDS)
def test_answers_are_equal_on(feed):
    assert applied(fuse_rms_normalization, make(whole()), {"x": FEEDS[feed]}) == ["RMSNormalization"]


def test_rule_2_fuses_a_quotient():
    body = f"{SQUARES['a product']}  {SPREAD}  root = Sqrt (spread)  norm = Div (x, root)  y = Mul (norm, scale)"
    assert applied(fuse_rms_normalization, make(body), {"x": X}) == ["RMSNormalization"]


def test_several_last_axes_are_normalised_with_a_scale_of_one_of_them():
    model = make(whole(), {"axes": np.array([1, 2])})
    assert applied(fuse_rms_normalization, model, {"x": X}) == ["RMSNormalization"]


def test_leading_axes_may_be_dynamic():
    model = make(whole(), inputs="float[batch,tokens,8] x", output="float[batch,tokens,8] y")
    assert applied(fuse_rms_normalization, model, {"x": X}) == ["RMSNormalization"]


HALF = "float16[2,3,8] x", "float16[2,3,8] y"
IN_FLOAT32 = f"w = Cast <to: int = 1> (x)  {whole()}".replace("(x, ", "(w, ").replace(", x)", ", w)")
BACK_IN_FLOAT16 = f"{IN_FLOAT32.replace('y =', 'z =')}  y = Cast <to: int = 10> (z)"


def test_rule_4_drops_the_casts_around_a_scale_that_float16_holds():
    scale = random(8).astype(np.float16)
    model = make(
        f"{IN_FLOAT32.replace('y =', 'z =')}  y = Cast <to: int = 10> (z)", {"scale": scale.astype(np.float32)}, *HALF
    )
    assert applied(fuse_rms_normalization, model, {"x": X.astype(np.float16)}, atol=5e-3) == ["RMSNormalization"]


def test_rule_4_comes_before_a_scale_in_float16():
    body = IN_FLOAT32.replace(SCALED["the scale first"].replace("x", "w"), "z = Mul (w, inverse)")
    body = f"{body}  h = Cast <to: int = 10> (z)  y = Mul (h, scale)"
    model = make(body, {"scale": random(8).astype(np.float16)}, *HALF)
    assert applied(fuse_rms_normalization, model, {"x": X.astype(np.float16)}, atol=5e-3) == ["RMSNormalization"]


def test_rule_4_keeps_casts_around_a_scale_that_float16_does_not_hold():
    model = make(BACK_IN_FLOAT16, None, *HALF)
    found = applied(fuse_rms_normalization, model, {"x": X.astype(np.float16)}, atol=5e-3)
    assert found == ["Cast", "RMSNormalization", "Cast"]


NOT_NORMALISED = {
    "the axis is not the last": {"axes": np.array([1])},
    "epsilon is no single number": {"eps": np.full((3, 1), 1e-6, np.float32)},
    "epsilon is zero": {"eps": np.float32(0)},
    "the power is another one": {"two": np.float32(3)},
    "the root is another one": {"exponent": np.float32(-1)},
    "the numerator is another number": {"one": np.float32(2)},
    "epsilon adds an axis": {"eps": EPSILON.reshape(1, 1, 1, 1)},
}


@pytest.mark.parametrize("case", NOT_NORMALISED)
def test_nothing_is_fused_where(case):
    weights = NOT_NORMALISED[case]
    inverse = {"exponent": "a power", "one": "a quotient"}.get(next(iter(weights)), "a reciprocal")
    rank = "float[a,b,c,d] y" if weights.get("eps", EPSILON).ndim == 4 else "float[2,3,8] y"
    assert kept(fuse_rms_normalization, make(whole("a power", inverse, "no scale"), weights, output=rank))


def test_a_mean_of_other_numbers_is_not_fused():
    body = whole().replace("Mul (x, x)", "Mul (x, z)")
    assert kept(fuse_rms_normalization, make(body, inputs="float[2,3,8] x, float[2,3,8] z"))


def test_nothing_is_fused_where_sizes_are_unknown():
    model = make(whole())
    model.graph.inputs[0].shape = None
    assert kept(fuse_rms_normalization, model)


@pytest.mark.parametrize("reader", ["mean", "inverse"])
def test_an_inner_value_that_is_an_output_stays(reader):
    assert kept(fuse_rms_normalization, make(whole(), output=f"float[2,3,8] y, float[2,3,1] {reader}"))


@pytest.mark.parametrize(
    "scale", [random(3, 1), random(2, 3, 8), random(2, 1, 1, 8)], ids=lambda scale: str(scale.shape)
)
def test_a_scale_that_reaches_beyond_the_normalised_axes_is_not_absorbed(scale):
    shape = ",".join(map(str, np.broadcast_shapes((2, 3, 8), scale.shape)))
    model = make(whole(scaled="the scale last"), {"scale": scale}, output=f"float[{shape}] y")
    assert applied(fuse_rms_normalization, model, {"x": X}) == ["RMSNormalization", "Mul"]


def test_a_scale_that_is_computed_stays_behind_the_fused_node():
    body = f"gate = Sigmoid (x)  {whole(scaled='the scale last')}".replace("(norm, scale)", "(norm, gate)")
    assert sorted(applied(fuse_rms_normalization, make(body), {"x": X})) == ["Mul", "RMSNormalization", "Sigmoid"]


def test_before_opset_23_there_is_nothing_to_fuse_into():
    assert kept(fuse_rms_normalization, make(whole(), opset=22))


def test_within_a_branch_what_the_graph_around_it_knows_is_fused():
    branch = f"g () => (float[2,3,8] b) {{ {whole(scaled='no scale').replace('y =', 'b =')} }}"
    other = "h () => (float[2,3,8] c) { c = Relu (x) }"
    text = f"y = If (flag) <then_branch: graph = {branch}, else_branch: graph = {other}>"
    model = make(text, inputs="float[2,3,8] x, bool flag")
    feed = {"x": X, "flag": np.array(True)}
    before = answered(model, feed)
    fuse_rms_normalization(model)
    assert np.allclose(answered(model, feed)[0], before[0], atol=1e-5)


def test_normalisations_that_share_a_mean_are_fused_each():
    body = f"{whole()}  factor2 = Mul (inverse, scale2)  z = Mul (factor2, x)"
    model = make(body, {"scale2": random(8) + 1}, output="float[2,3,8] y, float[2,3,8] z")
    assert applied(fuse_rms_normalization, model, {"x": X}) == ["RMSNormalization", "RMSNormalization"]
