import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.fuse_gelu import fuse_gelu

X = random(3, 8) * 2
NUMBERS = {"half": 0.5, "one": 1, "root": 2**0.5, "inverse": 0.5**0.5, "slope": (2 / np.pi) ** 0.5, "cubic": 0.044715}
NUMBERS |= {"three": 3}
ERF = "n = Div (x, root)  e = Erf (n)  r = Add (e, one)"
ERF_OF_PRODUCT = "n = Mul (inverse, x)  e = Erf (n)  r = Add (one, e)"
TANH = "c = Pow (x, three)  k = Mul (cubic, c)  a = Add (x, k)  i = Mul (slope, a)  t = Tanh (i)  r = Add (one, t)"
TANH_OF_PRODUCTS = TANH.replace("c = Pow (x, three)", "q = Mul (x, x)  c = Mul (q, x)").replace("(x, k)", "(k, x)")
WHOLE = {
    "half of x first": "h = Mul (half, x)  y = Mul (h, r)",
    "half of x second": "h = Mul (x, half)  y = Mul (r, h)",
    "half of the rest first": "h = Mul (half, r)  y = Mul (x, h)",
    "half of the rest second": "h = Mul (r, half)  y = Mul (h, x)",
    "half last": "h = Mul (r, x)  y = Mul (half, h)",
}


def make(body, output="float[3,8] y", opset=20, **changed):
    numbers = {name: np.array(value, np.float32) for name, value in {**NUMBERS, **changed}.items() if name in body}
    return graph(f"(float[3,8] x) => ({output}) {{ {body} }}", numbers, opset)


@pytest.mark.parametrize("form", [ERF, ERF_OF_PRODUCT], ids=["quotient", "product"])
@pytest.mark.parametrize("whole", WHOLE)
def test_rule_1_fuses_the_error_function(whole, form):
    model = make(form + WHOLE[whole])
    assert applied(fuse_gelu, model, {"x": X}) == ["Gelu"]
    assert next(iter(model.graph)).attributes.get_string("approximate", "none") == "none"


@pytest.mark.parametrize("form", [TANH, TANH_OF_PRODUCTS], ids=["power", "products"])
@pytest.mark.parametrize("whole", WHOLE)
def test_rule_2_fuses_the_tanh(whole, form):
    model = make(form + WHOLE[whole])
    assert applied(fuse_gelu, model, {"x": X}) == ["Gelu"]
    assert next(iter(model.graph)).attributes.get_string("approximate") == "tanh"


def test_numbers_may_have_axes_of_size_one():
    assert applied(fuse_gelu, make(ERF + WHOLE["half last"], half=[[0.5]], one=[1]), {"x": X}) == ["Gelu"]


@pytest.mark.parametrize("form", [ERF, TANH], ids=["error function", "tanh"])
@pytest.mark.parametrize("number", ["half", "one"])
def test_a_number_that_gives_the_result_an_axis_more_stays(number, form):
    numbers = {number: np.full((1, 1, 1), NUMBERS[number])}
    assert kept(fuse_gelu, make(form + WHOLE["half last"], "float[1,3,8] y", **numbers))


@pytest.mark.parametrize(("half", "fused"), [(0.5, True), ([0.5], False)])
def test_beside_what_may_have_no_axes_a_number_has_none(half, fused):
    model = make(ERF + WHOLE["half last"], half=half)
    model.graph.inputs[0].shape = None
    assert fuse_gelu(model) is fused


@pytest.mark.parametrize("changed", [{"half": 0.6}, {"one": 2}, {"root": 1.5}, {"half": np.full(8, 0.5)}], ids=str)
def test_other_numbers_are_another_function(changed):
    assert kept(fuse_gelu, make(ERF + WHOLE["half of x first"], **changed))


@pytest.mark.parametrize("changed", [{"slope": 0.8}, {"cubic": 0.05}, {"three": 2}], ids=str)
def test_other_numbers_in_the_tanh_are_another_function(changed):
    assert kept(fuse_gelu, make(TANH + WHOLE["half of x first"], **changed))


@pytest.mark.parametrize("inner", ["e", "r", "h"])
def test_what_is_an_output_inside_stays(inner):
    assert kept(fuse_gelu, make(ERF + WHOLE["half of x first"], f"float[3,8] y, float[3,8] {inner}"))


def test_an_inner_value_that_somebody_else_reads_stays():
    assert kept(fuse_gelu, make(f"{ERF} z = Neg (e) {WHOLE['half last']}", "float[3,8] y, float[3,8] z"))


def test_before_opset_20_there_is_nothing_to_fuse_into():
    assert kept(fuse_gelu, make(ERF + WHOLE["half last"], opset=19))
