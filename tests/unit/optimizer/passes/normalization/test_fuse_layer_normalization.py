import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.normalization.fuse_layer_normalization import fuse_layer_normalization

X = random(2, 3, 8)
AXES = np.array([-1])
EPSILON = np.float32(1e-3)
WEIGHTS = {"axes": AXES, "eps": EPSILON, "scale": random(1, 1, 8), "bias": random(1, 8)}
MOMENTS = """
    mean = ReduceMean <keepdims: int = 1> (x, axes)
    d = Sub (x, mean)
    dd = Mul (d, d)
    variance = ReduceMean <keepdims: int = 1> (dd, axes)
    spread = Add (eps, variance)
    root = Sqrt (spread)
"""
KERAS = {
    "scale and bias": "f = Mul (inv, scale)  o = Mul (neg, f)  t = Add (o, bias)  p = Mul (x, f)  y = Add (p, t)",
    "other orders": "f = Mul (scale, inv)  o = Mul (f, neg)  t = Add (bias, o)  p = Mul (f, x)  y = Add (t, p)",
    "a difference": "f = Mul (inv, scale)  o = Mul (mean, f)  t = Sub (bias, o)  p = Mul (x, f)  y = Add (p, t)",
    "no scale": "o = Mul (neg, inv)  t = Add (o, bias)  p = Mul (x, inv)  y = Add (p, t)",
    "no bias": "f = Mul (inv, scale)  o = Mul (neg, f)  p = Mul (x, f)  y = Add (p, o)",
    "neither": "o = Mul (neg, inv)  p = Mul (x, inv)  y = Add (p, o)",
}
PLAIN = {
    "a quotient": "y = Div (d, root)",
    "a product with the reciprocal": "inv = Reciprocal (root)  y = Mul (inv, d)",
    "a product with a power": "inv = Pow (spread, exponent)  y = Mul (d, inv)",
    "a product with the reciprocal and a scale": "inv = Reciprocal (root)  f = Mul (scale, inv)  y = Mul (d, f)",
    "the same in another order": "inv = Reciprocal (root)  f = Mul (inv, scale)  y = Mul (f, d)",
}
FORMS = {
    name: f"inv = Reciprocal (root)  {'neg = Neg (mean)' * ('neg' in KERAS[name])}  {KERAS[name]}" for name in KERAS
}
FORMS |= {"a quotient": PLAIN["a quotient"]}


def make(body, weights=None, output="float[2,3,8] y", moments=MOMENTS, opset=18):
    moments = moments if "root" in body else moments.replace("root = Sqrt (spread)", "")
    return graph(f"(float[2,3,8] x) => ({output}) {{ {moments} {body} }}", {**WEIGHTS, **(weights or {})}, opset)


@pytest.mark.parametrize("form", KERAS)
def test_rule_1_fuses_what_keras_writes_with(form):
    assert applied(fuse_layer_normalization, make(FORMS[form]), {"x": X}) == ["LayerNormalization"]


@pytest.mark.parametrize(
    "body",
    [
        "f = Mul (inv, scale)  o = Mul (neg, inv)  p = Mul (x, f)  y = Add (p, o)",
        "f = Mul (inv, scale)  o = Mul (neg, f)  p = Mul (x, inv)  y = Add (p, o)",
    ],
)
def test_a_scale_of_the_input_or_of_the_mean_alone_is_no_layer_normalization(body):
    assert kept(fuse_layer_normalization, make(f"inv = Reciprocal (root)  neg = Neg (mean)  {body}"))


@pytest.mark.parametrize("form", PLAIN)
def test_rule_2_fuses(form):
    assert applied(fuse_layer_normalization, make(PLAIN[form], {"exponent": np.float32(-0.5)}), {"x": X}) == [
        "LayerNormalization"
    ]


def test_rule_2_takes_squares_that_are_powers_and_axes_that_are_attributes():
    moments = MOMENTS.replace("Mul (d, d)", "Pow (d, two)").replace(
        "int = 1> (x, axes)", "int = 1, axes: ints = [2]> (x)"
    )
    moments = moments.replace("int = 1> (dd, axes)", "int = 1, axes: ints = [-1]> (dd)")
    model = make("y = Div (d, root)", {"two": np.float32(2)}, moments=moments, opset=17)
    assert applied(fuse_layer_normalization, model, {"x": X}) == ["LayerNormalization"]


def test_rule_2_normalises_over_several_last_axes():
    model = make("y = Div (d, root)", {"axes": np.array([1, 2])})
    assert applied(fuse_layer_normalization, model, {"x": X}) == ["LayerNormalization"]


def test_rules_3_and_4_absorb_scale_and_bias():
    model = make("n = Div (d, root)  s = Mul (scale, n)  t = Add (s, bias)  u = Mul (t, scale)  y = Add (bias, u)")
    assert applied(fuse_layer_normalization, model, {"x": X}) == ["LayerNormalization"]


FIRST = {"axes": np.array([1]), "scale": random(1, 3, 1, 1), "bias": random(3, 1, 1)}
TURNED = "y = Transpose <perm: ints = {order}> (last)"


def channels_first(body, order, output):
    body = f"{body.replace('y =', 'last =')} {TURNED.format(order=order)}"
    return graph(f"(float[2,3,8,5] x) => (float[{output}] y) {{ {MOMENTS} {body} }}", {**WEIGHTS, **FIRST}, 18)


@pytest.mark.parametrize("form", FORMS)
def test_rule_5_turns_before_it_normalises(form):
    model = channels_first(FORMS[form], [0, 2, 3, 1], "2,8,5,3")
    assert applied(fuse_layer_normalization, model, {"x": random(2, 3, 8, 5)}) == ["Transpose", "LayerNormalization"]


def test_rule_5_leaves_what_is_turned_so_that_other_axes_are_last():
    assert kept(fuse_layer_normalization, channels_first(PLAIN["a quotient"], [0, 3, 1, 2], "2,5,3,8"))


NOT_NORMALISED = {
    "the axis is not the last": ("y = Div (d, root)", {"axes": np.array([1])}),
    "the variance is over another axis": ("y = Div (d, root)", {"axes2": np.array([1])}),
    "epsilon is no single number": ("y = Div (d, root)", {"eps": np.full(3, 1e-3, np.float32).reshape(3, 1)}),
    "the power is another one": ("inv = Pow (spread, exponent)  y = Mul (d, inv)", {"exponent": np.float32(-1)}),
}


@pytest.mark.parametrize("case", NOT_NORMALISED)
def test_nothing_is_fused_where(case):
    body, weights = NOT_NORMALISED[case]
    moments = MOMENTS.replace("(dd, axes)", "(dd, axes2)") if "axes2" in weights else MOMENTS
    assert kept(fuse_layer_normalization, make(body, weights, moments=moments))


LIFTING = {
    "epsilon": ("y = Div (d, root)", {"eps": EPSILON.reshape(1, 1, 1, 1)}),
    "the power of the difference": ("y = Div (d, root)", {"two": np.full((1, 1, 1, 1), 2, np.float32)}),
    "the power of the variance": ("i = Pow (spread, exponent)  y = Mul (d, i)", {"exponent": np.full((1,) * 4, -0.5)}),
}


@pytest.mark.parametrize("case", LIFTING)
def test_nothing_is_fused_where_the_result_has_an_axis_more_because_of(case):
    body, weights = LIFTING[case]
    moments = MOMENTS.replace("Mul (d, d)", "Pow (d, two)") if "two" in weights else MOMENTS
    assert kept(fuse_layer_normalization, make(body, weights, "float[1,2,3,8] y", moments))


def test_a_variance_that_somebody_else_reads_stays():
    assert kept(
        fuse_layer_normalization, make("y = Div (d, root)  z = Neg (variance)", output="float[2,3,8] y, float[2,3,1] z")
    )


def test_a_mean_that_is_an_output_stays():
    assert kept(fuse_layer_normalization, make("y = Div (d, root)", output="float[2,3,8] y, float[2,3,1] mean"))


@pytest.mark.parametrize("scale", [random(3, 1), random(2, 3, 8), random(2, 1, 1, 8)], ids=str)
def test_a_scale_that_reaches_beyond_the_normalised_axes_is_not_absorbed(scale):
    shape = ",".join(map(str, np.broadcast_shapes((2, 3, 8), scale.shape)))
    model = make("n = Div (d, root)  y = Mul (n, scale)", {"scale": scale}, output=f"float[{shape}] y")
    assert applied(fuse_layer_normalization, model, {"x": X}) == ["LayerNormalization", "Mul"]


def test_a_scale_that_is_computed_is_not_absorbed():
    model = make("n = Div (d, root)  g = Sigmoid (x)  y = Mul (n, g)")
    assert sorted(applied(fuse_layer_normalization, model, {"x": X})) == ["LayerNormalization", "Mul", "Sigmoid"]


def test_before_opset_17_there_is_nothing_to_fuse_into():
    assert kept(fuse_layer_normalization, make("y = Div (d, root)", opset=16, moments=MOMENTS.replace(", axes)", ")")))


def test_normalisations_that_share_mean_and_variance_are_fused_each():
    body = (
        f"{FORMS['scale and bias']}  f2 = Mul (scale2, inv)  o2 = Mul (neg, f2)  t2 = Add (o2, bias)  p2 = Mul (x, f2)"
    )
    model = make(f"{body}  z = Add (p2, t2)", {"scale2": random(8) + 1}, "float[2,3,8] y, float[2,3,8] z")
    assert applied(fuse_layer_normalization, model, {"x": X}) == ["LayerNormalization", "LayerNormalization"]


def test_shared_mean_and_variance_stay_where_a_scale_is_computed():
    body = f"{FORMS['scale and bias']}  g = Sigmoid (x)  f2 = Mul (g, inv)"
    assert kept(fuse_layer_normalization, make(body, output="float[2,3,8] y, float[2,3,8] f2"))
