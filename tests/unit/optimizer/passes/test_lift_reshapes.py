import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.lift_reshapes import lift_reshapes

WEIGHTS = {
    "w": random(8, 4),
    "rows": np.array([-1, 8]),
    "back": np.array([2, 6, 4]),
    "c": random(4, 2),
    "s": np.float32(3),
}
WEIGHTS |= {"heads": np.array([2, 6, 4, 2]), "merged": np.array([12, 6, 4]), "split": np.array([3, 4, 6, 6])}
WEIGHTS |= {"merged_v": np.array([12, 6, 5])}


def make(body, inputs="float[2,6,8] x", output="float[2,6,4] y", **weights):
    return graph(f"({inputs}) => ({output}) {{ {body} }}", {**WEIGHTS, **weights}, 18)


def test_rule_1_leaves_rows_as_they_are():
    model = make("r = Reshape (x, rows)  m = MatMul (r, w)  y = Reshape (m, back)")
    assert applied(lift_reshapes, model, {"x": random(2, 6, 8)}) == ["MatMul"]


@pytest.mark.parametrize("size", [1, 3])
def test_rule_1_knows_that_free_rows_are_as_many_as_before(size):
    body = """
        r = Reshape (x, rows)  m = MatMul (r, w)  n = Shape (x)  g = Gather (n, leading)
        t = Concat <axis: int = 0> (g, columns)  y = Reshape (m, t)
    """
    weights = {"leading": np.array([0, 1]), "columns": np.array([4])}
    model = make(body, "float[batch,length,8] x", "float[batch,length,4] y", **weights)
    assert applied(lift_reshapes, model, {"x": random(size, 6, 8)}) == ["MatMul"]


def test_rule_1_reshapes_once_where_the_rows_come_otherwise():
    model = make("r = Reshape (x, rows)  m = MatMul (r, w)  y = Reshape (m, back)", "float[2,6,4,2] x")
    assert applied(lift_reshapes, model, {"x": random(2, 6, 4, 2)}) == ["Reshape", "MatMul"]


NOT_ROWS = {
    "the product is read flat too": ("m = MatMul (r, w)  y = Reshape (m, back)  z = Relu (m)", ", float[12,4] z"),
    "the product is an output too": ("z = MatMul (r, w)  y = Reshape (z, back)", ", float[12,4] z"),
    "the columns are cut": ("m = MatMul (r, w)  y = Reshape (m, cut)", ""),
}


def test_rule_1_leaves_a_product_that_a_branch_reshapes():
    body = """
        r = Reshape (x, rows)  m = MatMul (r, w)
        y = If (c) <
            then_branch = yes () => (float[2,6,4] o1) { o1 = Reshape (m, back) },
            else_branch = no () => (float[2,6,4] o2) { o2 = Expand (s, back) }
        >
    """
    assert kept(lift_reshapes, make(body, "bool c, float[2,6,8] x"))


@pytest.mark.parametrize("case", NOT_ROWS)
def test_rule_1_leaves_a_reshape_where(case):
    body, more = NOT_ROWS[case]
    output = "float[2,12,2] y" if "cut)" in body else f"float[2,6,4] y{more}"
    assert kept(lift_reshapes, make(f"r = Reshape (x, rows) {body}", output=output, cut=np.array([2, 12, 2])))


MERGED = "a = Reshape (x, merged)  b = Reshape (v, merged_v)  at = Transpose <perm: ints = [0, 2, 1]> (a)"


def test_rule_2_multiplies_before_leading_axes_are_merged():
    body = f"{MERGED}  m = MatMul (at, b)  y = Reshape (m, wide)"
    model = make(body, "float[3,4,6,4] x, float[3,4,6,5] v", "float[3,4,4,5] y", wide=np.array([3, 4, 4, 5]))
    feed = {"x": random(3, 4, 6, 4), "v": random(3, 4, 6, 5)}
    assert applied(lift_reshapes, model, feed) == ["Transpose", "MatMul"]


def test_rule_2_sees_an_operand_that_is_scaled_before_its_axes_are_merged():
    """Rule 4 would move the scale to between the Reshape and the product, and OpenVINO does not load that."""
    operands = "k = Mul (b, s)  ra = Reshape (a, merged)  rb = Reshape (k, columns)"
    body = f"{operands}  m = MatMul (ra, rb)  y = Reshape (m, split)"
    weights = {"merged": np.array([-1, 3, 4]), "columns": np.array([-1, 4, 5]), "split": np.array([-1, 2, 3, 5])}
    model = make(body, "float[2,2,3,4] a, float[2,2,4,5] b", "float[2,2,3,5] y", **weights)
    assert applied(lift_reshapes, model, {"a": random(2, 2, 3, 4), "b": random(2, 2, 4, 5)}) == ["Mul", "MatMul"]


def test_rule_2_leaves_products_without_more_leading_axes():
    body = "a = Reshape (x, merged)  at = Transpose <perm: ints = [0, 2, 1]> (a)  y = MatMul (at, v)"
    assert kept(lift_reshapes, make(body, "float[72,4] x, float[12,6,5] v", "float[12,4,5] y"))


EINSUM = """
    l = Shape <start: int = 2, end: int = 3> (x)  t = Concat <axis: int = 0> (free, l, width)
    xu = Unsqueeze (x, third)  xm = Reshape (xu, t)
    vu = Unsqueeze (v, third)  vm = Reshape (vu, t)  vt = Transpose <perm: ints = [0, 2, 1]> (vm)
    m = MatMul (xm, vt)
"""
APART = """
    n = Shape <start: int = 0, end: int = 1> (x)  o = Concat <axis: int = 0> (n, count, l, l, once)
    p = Reshape (m, o)  y = Squeeze (p, fourth)
"""
PARTS = {"free": np.array([-1]), "width": np.array([5]), "third": np.array([3]), "count": np.array([4])}
PARTS |= {"once": np.array([1]), "fourth": np.array([4])}


def test_rule_2_multiplies_before_leading_axes_are_merged_that_two_dynamic_sizes_belong_to():
    model = make(EINSUM + APART, "float[b,4,l,5] x, float[b,4,l,5] v", "float[b,4,l,l] y", **PARTS)
    found = applied(lift_reshapes, model, {"x": random(2, 4, 3, 5), "v": random(2, 4, 3, 5)})
    assert sorted(found) == ["MatMul", "Transpose"]


def test_rule_2_leaves_products_of_which_no_constant_says_what_follows():
    body = f"{EINSUM} y = Relu (m)"
    assert kept(lift_reshapes, make(body, "float[b,4,l,5] x, float[b,4,l,5] v", "float[c,l,l] y", **PARTS))


def test_rule_3_adds_before_the_last_axis_is_split():
    model = make("r = Reshape (x, heads)  y = Add (c, r)", output="float[2,6,4,2] y")
    assert applied(lift_reshapes, model, {"x": random(2, 6, 8)}) == ["Add", "Reshape"]


@pytest.mark.parametrize(
    "constant", [random(6, 4, 2), random(2, 1, 1, 1), random(1, 2, 6, 4, 2)], ids=lambda array: str(array.shape)
)
def test_rule_3_leaves_a_constant_that_reaches_beyond_the_split(constant):
    axes = "1,2,6,4,2" if constant.ndim == 5 else "2,6,4,2"
    assert kept(lift_reshapes, make("r = Reshape (x, heads)  y = Add (r, c)", output=f"float[{axes}] y", c=constant))


STRETCHING = {
    "longer than an axis of the split": ("float[2,4] x", "float[2,3,4] y", np.array([2, 1, 4]), random(3, 4)),
    "longer than a number": ("float x", "float[4] y", np.array([1]), random(4)),
}


@pytest.mark.parametrize("case", STRETCHING)
def test_rule_3_leaves_a_constant_that_is(case):
    inputs, output, shape, constant = STRETCHING[case]
    assert kept(lift_reshapes, make("r = Reshape (x, to)  y = Add (r, c)", inputs, output, to=shape, c=constant))


@pytest.mark.parametrize(("scaled", "operation"), [("Mul (r, s)", "Mul"), ("Mul (s, r)", "Mul"), ("Div (r, s)", "Div")])
def test_rule_4_scales_after_a_change_of_layout(scaled, operation):
    body = f"r = Relu (x)  m = {scaled}  y = Transpose <perm: ints = [0, 2, 1]> (m)"
    found = applied(lift_reshapes, make(body, output="float[2,8,6] y"), {"x": random(2, 6, 8)})
    assert found == ["Relu", "Transpose", operation]


@pytest.mark.parametrize("scaled", ["Div (s, x)", "Mul (x, many)"])
def test_rule_4_leaves_what_is_no_scale(scaled):
    body = f"m = {scaled}  y = Transpose <perm: ints = [0, 2, 1]> (m)"
    assert kept(lift_reshapes, make(body, output="float[2,8,6] y", many=random(8)))


def test_rule_4_leaves_a_scale_with_more_axes_than_the_result():
    body = "m = Mul (x, s)  y = Reshape (m, flat)"
    weights = {"s": np.full((1, 1, 1, 1), 3, np.float32), "flat": np.array([6, 20])}
    assert kept(lift_reshapes, make(body, "float[2,3,4,5] x", "float[6,20] y", **weights))


def test_rule_4_leaves_what_others_read_before():
    body = "m = Mul (x, s)  y = Transpose <perm: ints = [0, 2, 1]> (m)  z = Relu (m)"
    assert kept(lift_reshapes, make(body, output="float[2,8,6] y, float[2,6,8] z"))


@pytest.mark.parametrize("rows", ["float[2,6,8]", "float[2,6,4,2]"], ids=["as they are wanted", "reshaped"])
def test_rule_1_leaves_rows_as_they_are_where_columns_are_split(rows):
    model = make("r = Reshape (x, rows)  m = MatMul (r, w)  y = Reshape (m, halves)", f"{rows} x", "float[2,6,2,2] y",
                 halves=np.array([2, 6, 2, 2]))  # fmt: skip
    shape = [int(size) for size in rows[6:-1].split(",")]
    before = ["Reshape"] * (len(shape) - 3)
    assert applied(lift_reshapes, model, {"x": random(*shape)}) == [*before, "MatMul", "Reshape"]


def test_rule_1_leaves_columns_that_are_joined_with_rows():
    body = "r = Reshape (x, rows)  m = MatMul (r, w)  y = Reshape (m, other)"
    assert kept(lift_reshapes, make(body, output="float[8,6] y", other=np.array([8, 6])))


PRODUCTS = {"plain": ("", random(8, 4)), "of transposed columns": ("<transB: int = 1>", random(4, 8))}
PRODUCTS["of columns that any other number than zero transposes"] = ("<transB: int = 2>", random(4, 8))


@pytest.mark.parametrize("case", PRODUCTS)
def test_rule_5_writes_a_product_without_a_bias_as_one(case):
    attributes, columns = PRODUCTS[case]
    model = make(f"y = Gemm {attributes} (x, columns)", "float[6,8] x", "float[6,4] y", columns=columns)
    assert applied(lift_reshapes, model, {"x": random(6, 8)}) == ["MatMul"]


@pytest.mark.parametrize(
    "call",
    ["<alpha: float = 2.0> (x, w)", "(x, w, c4)", "<transA: int = 1> (x, w)", "<transA: int = 2> (x, w)", "(x, v)"],
)
def test_rule_5_leaves_what_is_more_than_a_product(call):
    inputs = "float[8,6] x, float[8,4] v" if "transA" in call else "float[6,8] x, float[8,4] v"
    assert kept(lift_reshapes, make(f"y = Gemm {call}", inputs, "float[6,4] y", c4=random(4)))


CUT = "float[2,6,8] s, float[2,2,3,4,1] a, float[2,2,3,1,2] b"
CUT_FEED = {"s": random(2, 6, 8), "a": random(2, 2, 3, 4, 1), "b": random(2, 2, 3, 1, 2)}
CUT_TARGETS = {"cut": np.array([2, 2, 3, 4, 2]), "whole": np.array([2, 6, 8]), "other": np.array([2, 3, 16])}


@pytest.mark.parametrize("sums", ["t = Add (c, a)  u = Add (t, b)", "t = Add (b, c)  u = Add (a, t)"])
def test_rule_6_adds_before_the_last_axes_are_cut(sums):
    body = f"c = Reshape (s, cut)  {sums}  y = Reshape (u, whole)"
    model = graph(f"({CUT}) => (float[2,6,8] y) {{ {body} }}", CUT_TARGETS)
    assert applied(lift_reshapes, model, CUT_FEED) == ["Add", "Reshape", "Add"]


UNCUT = {
    "what is added would have to be stretched": "c = Reshape (s, cut)  u = Add (c, a)  y = Reshape (u, whole)",
    "others read the sum": "c = Reshape (s, cut)  t = Add (c, a)  z = Add (t, b)  y = Reshape (z, whole)",
    "the result has other sizes": "c = Reshape (s, cut)  t = Add (c, a)  u = Add (t, b)  y = Reshape (u, other)",
    "it is no sum": "c = Reshape (s, cut)  t = Mul (c, a)  u = Mul (t, b)  y = Reshape (u, whole)",
}


@pytest.mark.parametrize("case", UNCUT)
def test_rule_6_changes_nothing_where(case):
    outputs = "float[p,q,r] y, float[2,2,3,4,2] z" if "others" in case else "float[p,q,r] y"
    assert kept(lift_reshapes, graph(f"({CUT}) => ({outputs}) {{ {UNCUT[case]} }}", CUT_TARGETS))
