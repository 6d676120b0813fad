import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.normalization.fuse_group_normalization import fuse_group_normalization
from irbench.optimizer.passes.remove_redundant import remove_redundant

MOMENTS = """
    mean = ReduceMean <keepdims: int = 1> (r, axes)
    d = Sub (r, mean)
    dd = Mul (d, d)
    variance = ReduceMean <keepdims: int = 1> (dd, axes)
    spread = Add (variance, eps)
    root = Sqrt (spread)
"""
KERAS = "inv = Reciprocal (root)  f = Mul (inv, scale)  neg = Neg (mean)  o = Mul (neg, f)  t = Add (o, bias)"
KERAS += "  p = Mul (r, f)  n = Add (p, t)"
FORMS = {
    "scale and bias": KERAS,
    "neither": "inv = Reciprocal (root)  neg = Neg (mean)  o = Mul (neg, inv)  p = Mul (r, inv)  n = Add (p, o)",
    "a quotient": "n = Div (d, root)",
    "a product with the reciprocal": "inv = Reciprocal (root)  n = Mul (d, inv)",
}
LAST = {"axes": np.array([1, 2, 4]), "scale": random(1, 1, 1, 3, 2), "bias": random(3, 2)}
FIRST = {"axes": np.array([2, 3, 4]), "scale": random(1, 3, 2, 1, 1), "bias": random(3, 2, 1, 1)}
PLACES = {
    "channels last": ((2, 4, 5, 6), (2, 4, 5, 3, 2), LAST),
    "channels first": ((2, 6, 4, 5), (2, 3, 2, 4, 5), FIRST),
}
FEEDS = {"random": (1, 0), "zeros": (0, 0), "large offsets": (1, 1000), "constant": (0, 7)}


def make(form, place="channels last", moments=MOMENTS, signature=None, **weights):
    sizes, groups, given = PLACES[place]
    dims = ",".join(map(str, sizes))
    body = f"r = Reshape (x, groups)  {moments}  {form}  y = Reshape (n, whole)"
    constants = {"eps": np.float32(1e-3), "groups": np.array(groups), "whole": np.array(sizes), **given, **weights}
    return graph(f"{signature or f'(float[{dims}] x) => (float[{dims}] y)'} {{ {body} }}", constants)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES)
def test_rules_1_and_2_fuse(form, place):
    found = applied(fuse_group_normalization, make(FORMS[form], place), {"x": random(*PLACES[place][0])})
    assert found.count("InstanceNormalization") == 1
    assert not {"ReduceMean", "Sqrt", "Div", "Reciprocal"} & set(found)
    assert found.count("Transpose") == (2 if place == "channels last" else 0)


@pytest.mark.parametrize("feed", FEEDS)
def test_answers_are_equal_on(feed):
    factor, offset = FEEDS[feed]
    x = (random(2, 4, 5, 6) * factor + offset).astype(np.float32)
    assert applied(fuse_group_normalization, make(FORMS["a quotient"]), {"x": x}, atol=1e-3)


def test_a_dynamic_axis_beside_the_batch_is_left_alone_because_a_batch_of_0_could_not_be_reshaped():
    signature = "(float[batch,h,5,6] x) => (float[batch,h,5,6] y)"
    whole, groups = np.array([0, 0, 5, 6]), np.array([0, 0, 5, 3, 2])
    model = make(KERAS, signature=signature, whole=whole, groups=groups)
    assert kept(fuse_group_normalization, model)


def test_a_transpose_to_channels_last_goes_with_the_one_that_undoes_it():
    body = "t = Transpose <perm: ints = [0, 2, 3, 1]> (x)  r = Reshape (t, groups)"
    body += f"  {MOMENTS} {FORMS['a quotient']}  u = Reshape (n, whole)  y = Transpose <perm: ints = [0, 3, 1, 2]> (u)"
    weights = {"groups": np.array([2, 4, 5, 3, 2]), "whole": np.array([2, 4, 5, 6]), "eps": np.float32(1e-3), **LAST}
    model = graph(f"(float[2,6,4,5] x) => (float[2,6,4,5] y) {{ {body} }}", weights)
    assert fuse_group_normalization(model)
    remove_redundant(model)
    assert [node.op_type for node in model.graph] == ["Reshape", "InstanceNormalization", "Reshape"]


NOT_FUSED = {
    "the batch is normalised too": {"axes": np.array([0, 1, 2, 4])},
    "another axis is left": {"axes": np.array([1, 2])},
    "only the batch is left": {"axes": np.array([1, 2, 3, 4])},
    "the variance is over other axes": {"axes2": np.array([1, 2])},
    "epsilon is not positive": {"eps": np.float32(0)},
    "the scale reaches along the height": {"scale": random(1, 4, 1, 3, 2)},
    "the bias differs within the batch": {"bias": random(2, 1, 1, 3, 2)},
}


@pytest.mark.parametrize("case", NOT_FUSED)
def test_nothing_is_fused_where(case):
    weights = NOT_FUSED[case]
    moments = MOMENTS.replace("(dd, axes)", "(dd, axes2)") if "axes2" in weights else MOMENTS
    assert kept(fuse_group_normalization, make(KERAS, moments=moments, **weights))


def test_nothing_is_fused_where_two_more_axes_are_dynamic_because_no_constant_splits_them():
    signature = "(float[batch,h,w,6] x, int64[5] g, int64[4] s) => (float[batch,h,w,6] y)"
    body = f"r = Reshape (x, g)  {MOMENTS}  {FORMS['a quotient']}  y = Reshape (n, s)"
    assert kept(fuse_group_normalization, graph(f"{signature} {{ {body} }}", {"eps": np.float32(1e-3), **LAST}))


def test_a_scale_and_bias_of_groups_alone_are_parameters_of_the_fused_node():
    weights = {"scale": random(1, 1, 1, 3, 1), "bias": random(3, 1)}
    found = applied(fuse_group_normalization, make(KERAS, **weights), {"x": random(2, 4, 5, 6)})
    assert not {"Mul", "Add"} & set(found)


def test_a_mean_over_the_last_axis_alone_is_left_to_layer_normalisation():
    body = f"{MOMENTS.replace('(r,', '(x,')} {FORMS['a quotient'].replace('n =', 'y =')}".replace("Sub (r", "Sub (x")
    weights = {"axes": np.array([2]), "eps": np.float32(1e-3)}
    assert kept(fuse_group_normalization, graph(f"(float[2,3,8] x) => (float[2,3,8] y) {{ {body} }}", weights))


def test_an_unknown_number_of_groups_is_not_fused():
    signature = "(float[2,4,5,c] x) => (float[2,4,5,c] y)"
    body = f"{MOMENTS.replace('(r,', '(x,')} {FORMS['a quotient'].replace('n =', 'y =')}".replace("Sub (r", "Sub (x")
    weights = {"axes": np.array([1, 2]), "eps": np.float32(1e-3)}
    assert kept(fuse_group_normalization, graph(f"{signature} {{ {body} }}", weights))


def test_float64_is_not_fused_because_runtimes_have_no_kernel_for_it():
    signature = "(double[2,4,5,6] x) => (double[2,4,5,6] y)"
    weights = {name: value.astype(float) for name, value in LAST.items() if name in ("scale", "bias")}
    assert kept(fuse_group_normalization, make(KERAS, signature=signature, eps=np.float64(1e-3), **weights))
