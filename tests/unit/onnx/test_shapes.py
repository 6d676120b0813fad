import numpy as np
import onnx_ir as ir
import pytest
from graphs import graph

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import Size, sizes_of


def test_a_constant_whose_shape_was_unknown_gets_that_of_what_it_holds():
    model = graph("(float[2,3] x) => (float[2,3] y) { y = Add (x, table) }", {"table": np.ones((2, 3), np.float32)})
    table = model.graph.initializers["table"]
    table.shape, table.type = ir.Shape([None, None]), None
    infer(model)
    assert (sizes_of(table), table.dtype) == ([Size(2), Size(3)], ir.DataType.FLOAT)


def test_what_is_computed_from_a_constant_whose_shape_was_unknown_has_a_shape():
    model = graph(
        "(float[2,3] x) => (float[2,3] y) { s = Exp (table)  y = Add (x, s) }", {"table": np.float32([1, 2, 3])}
    )
    model.graph.initializers["table"].shape = None
    infer(model)
    assert sizes_of(next(iter(model.graph)).outputs[0]) == [Size(3)]


def test_a_constant_that_a_caller_may_replace_keeps_the_shape_of_the_input():
    model = graph("(float[n] x) => (float[n] y) { y = Exp (x) }", {"x": np.ones(3, np.float32)})
    infer(model)
    assert sizes_of(model.graph.inputs[0]) == [Size(1, ("n",))]


SLICE = "sh = Shape (x)  n = Gather (sh, second)  e = Unsqueeze (n, zero)"
TABLE = {"second": np.array(1), "zero": np.array([0]), "table": np.ones((9, 3), np.float32)}


def sizes_after(body, signature="(float[b,n,3] x) => (float[b,n,3] y)"):
    model = graph(f"{signature} {{ {body} }}", TABLE | {"minus": np.array([-1]), "most": np.array([2**31 - 1])})
    infer(model, names_unknown=False)
    return {value.name: sizes_of(value) for node in model.graph for value in node.outputs}


def test_a_table_that_is_cut_to_a_dynamic_length_takes_that_length_where_it_meets_it():
    sizes = sizes_after(f"{SLICE}  t = Slice (table, zero, e)  y0 = Add (x, t)  y = Relu (y0)")
    assert sizes["t"] == [Size(1, ("n<=9",)), Size(3)]
    assert sizes["y0"] == [Size(1, ("b",)), Size(1, ("n",)), Size(3)]


def test_a_table_that_is_cut_and_expanded_has_the_sizes_that_it_is_expanded_to():
    assert sizes_after(f"{SLICE}  t = Slice (table, zero, e)  y0 = Expand (t, sh)  y = Relu (y0)")["y0"] == [
        Size(1, ("b",)),
        Size(1, ("n",)),
        Size(3),
    ]


def test_an_end_that_would_be_replaced_if_it_were_minus_one_is_followed():
    wrapped = "q = Equal (minus, e)  i = Cast <to: int = 7> (q)  m = Mul (i, most)  f = Add (e, m)"
    assert sizes_after(f"{SLICE}  {wrapped}  t = Slice (table, zero, f)  y = Add (x, t)")["t"] == [
        Size(1, ("n<=9",)),
        Size(3),
    ]


def test_a_slice_from_the_middle_to_a_dynamic_end_has_no_known_size():
    assert sizes_after(f"{SLICE}  o = Neg (minus)  t = Slice (table, o, e)  y = Add (x, t)")["t"] is None


@pytest.mark.parametrize(("step", "length"), [(1.0, [Size(1, ("n",))]), (2.0, None)])
def test_a_range_of_floats_up_to_a_size_is_as_long_as_that(step, length):
    body = (
        f"{SLICE}  s = Squeeze (e)  f = Cast <to: int = 1> (s)  r = Range (start, f, step)  u = Relu (r)  y = Relu (x)"
    )
    numbers = {"start": np.float32(0), "step": np.float32(step)}
    model = graph(f"(float[b,n,3] x) => (float[b,n,3] y) {{ {body} }}", TABLE | numbers)
    infer(model, names_unknown=False)
    assert {value.name: sizes_of(value) for node in model.graph for value in node.outputs}["u"] == length


@pytest.mark.parametrize("size", ["n", "8"])
def test_a_slice_whose_bounds_are_attributes_as_before_opset_10_is_left_to_onnx(size):
    body = "s = Slice <starts: ints = [0], ends: ints = [4], axes: ints = [1]> (x)  y = Exp (s)"
    model = graph(f"(float[b,{size}] x) => (float[b,4] y) {{ {body} }}", opset=9)
    infer(model, names_unknown=False)
    assert sizes_of(next(iter(model.graph)).outputs[0]) == (None if size == "n" else [Size(1, ("b",)), Size(4)])


@pytest.mark.parametrize("allowzero", [0, 1])
def test_a_reshape_that_may_ask_for_zeros_is_followed_as_long_as_it_asks_for_none(allowzero):
    body = f"t = Concat <axis: int = 0> (e, minus)  r = Reshape <allowzero: int = {allowzero}> (x, t)  y = Relu (x)"
    assert sizes_after(f"{SLICE} {body}")["r"] == [Size(1, ("n",)), Size(3, ("b",))]


def test_a_reshape_that_asks_for_a_zero_copies_nothing():
    body = "t = Concat <axis: int = 0> (zero, e)  r = Reshape <allowzero: int = 1> (x, t)  y = Relu (x)"
    assert sizes_after(f"{SLICE} {body}")["r"] is None


def elements_of(body, **constants):
    model = graph(f"(float[b,n,6] x) => (float[b,n,6] y) {{ sh = Shape (x) {body} y = Relu (x) }}", constants)
    model.graph.inputs[0].shape = ir.Shape(["2*n", "n", 6])
    known = infer(model)
    return next(elements for value, elements in known.items() if value.name == "e")


COMPUTED = {
    "a filled tensor": ("f = ConstantOfShape <value: tensor = int64[1] {3}> (three)  e = Mul (f, given)", [21, -3, -3]),
    "a choice by constants": ("e = Where (yes_no, sh, given)", [Size(2, ("n",)), Size(-1), Size(6)]),
    "a quotient that is whole": ("e = Div (sh, two)", [Size(1, ("n",)), None, Size(3)]),
    "a difference": ("e = Sub (sh, six)", [None, None, Size(0)]),
    "a difference from nothing": ("e = Sub (sh, none)", [Size(2, ("n",)), Size(1, ("n",)), Size(6)]),
    "the smaller of two": ("e = Min (sh, six)", [None, None, Size(6)]),
    "a choice": ("q = Equal (given, minus)  e = Where (q, sh, given)", [Size(7), Size(1, ("n",)), Size(6)]),
    "the same with another number of axes": ("r = Gather (sh, one)  e = Reshape (r, minus)", [Size(1, ("n",))]),
    "numbers as booleans": ("q = Cast <to: int = 9> (given)  e = Cast <to: int = 7> (q)", [1, 1, 1]),
    "sizes as booleans": ("q = Cast <to: int = 9> (sh)  e = Cast <to: int = 7> (q)", [None, None, 1]),
    "a comparison that holds for one size": ("m = Mul (sh, minus)  e = Equal (m, minus)", [None, None, 0]),
    "a comparison that holds for no size": ("e = Equal (sh, minus)", [0, 0, 0]),
    "a choice by what may be zero or not": (
        "q = Cast <to: int = 9> (sh)  e = Where (q, sh, given)",
        [None, None, Size(6)],
    ),
}


@pytest.mark.parametrize("case", COMPUTED)
def test_elements_are_followed_through(case):
    body, expected = COMPUTED[case]
    numbers = {"two": 2, "six": 6, "none": 0, "one": 1}
    arrays = {"minus": np.array([-1]), "given": np.array([7, -1, -1]), "three": np.array([3])}
    arrays |= {name: np.array(number) for name, number in numbers.items()}
    found = elements_of(body, yes_no=np.array([True, False, True]), **arrays)
    assert list(found) == [Size(size) if isinstance(size, int) else size for size in expected]


@pytest.mark.parametrize("filling", [np.float32("-inf"), np.float32("nan"), np.float32(0.5)])
def test_a_tensor_that_is_filled_with_no_integer_is_not_followed(filling):
    model = graph("(float[2,3] x) => (float[2,3] y) { sh = Shape (x)  f = ConstantOfShape (sh)  y = Add (x, f) }")
    fill = next(node for node in model.graph if node.op_type == "ConstantOfShape")
    fill.attributes["value"] = ir.AttrTensor("value", ir.tensor(np.array([filling])))
    assert [value.name for value in infer(model)] == ["sh"]


STRIDED = "c = Conv <strides: ints = [2]> (x, kernel)"
KERNEL = {"kernel": np.ones((4, 4, 3), np.float32), "four": np.array(4), "many": np.array([0, 2, 2, -1])}


def unnamed(body, output="float[b,4,m] y"):
    model = graph(f"(float[b,4,n] x) => ({output}) {{ {STRIDED} {body} }}", KERNEL)
    infer(model)
    return model, {value.name: sizes_of(value) for node in model.graph for value in node.outputs}


def test_a_length_that_nothing_can_say_has_a_name_of_its_own_by_which_it_is_followed():
    _, sizes = unnamed("r = Relu (c)  s = Reshape (r, many)  d = Add (c, r)  y = Relu (d)")
    assert sizes["c"] is not None
    assert sizes["c"] == sizes["r"] == sizes["d"]
    assert sizes["s"] == [sizes["c"][0], Size(2), Size(2), sizes["c"][2]]


def test_two_lengths_that_nothing_can_say_have_two_names():
    _, sizes = unnamed("d = Conv <strides: ints = [2]> (x, kernel)  y = Relu (d)")
    assert sizes["c"] != sizes["d"]


def test_a_name_is_given_anew_each_time_and_that_of_an_input_is_not_given():
    model, _ = unnamed("r = Relu (c)  y = Relu (r)")
    model.graph.inputs[0].shape = ir.Shape(["b", 4, "irbench_unnamed_1"])
    infer(model)
    first, second, _ = (sizes_of(node.outputs[0]) for node in model.graph)
    assert first == second == [Size(1, ("b",)), Size(4), Size(1, ("irbench_unnamed_2",))]
    infer(model, names_unknown=False)
    assert sizes_of(next(iter(model.graph)).outputs[0]) is None
    assert sizes_of(model.graph.inputs[0]) == [Size(1, ("b",)), Size(4), Size(1, ("irbench_unnamed_1",))]


def test_what_is_unknown_of_an_output_stays_so():
    _, sizes = unnamed("y = Relu (c)", "float[b,4,?] y")
    assert sizes["y"] is None
    assert sizes["c"] is not None


def test_the_elements_of_a_sequence_share_no_name():
    parts = "t = SequenceAt (s, none)  u = SequenceAt (s, one)"
    body = f"s = SplitToSequence <axis: int = 2> (x, three)  {parts}  y = Relu (x)"
    numbers = {"three": np.array(3), "none": np.array(0), "one": np.array(1)}
    model = graph(f"(float[b,4,n] x) => (float[b,4,n] y) {{ {body} }}", numbers)
    infer(model)
    sizes = {value.name: sizes_of(value) for node in model.graph for value in node.outputs}
    assert sizes["t"] is None or sizes["t"] != sizes["u"]


PARTS = "(float[b,past,3] x, float[b,new,3] z) => (float[b,all,3] y)"


def test_a_concatenation_is_as_long_as_its_parts_together():
    sizes = sizes_after("c = Concat <axis: int = -2> (x, z)  y = Relu (c)", PARTS)
    assert sizes["c"] == [Size(1, ("b",)), Size(1, ("new + past",)), Size(3)]


def test_positions_behind_others_are_as_many_as_are_new():
    lengths = (
        "s = Shape <start: int = 1, end: int = 2> (x)  p = Squeeze (s)  t = Shape <start: int = 1, end: int = 2> (z)"
    )
    body = f"{lengths}  n = Squeeze (t)  e = Add (p, n)  r = Range (p, e, second)  y = Concat <axis: int = 1> (x, z)"
    sizes = sizes_after(body, PARTS)
    assert sizes["r"] == [Size(1, ("new",))]


def test_a_target_that_is_no_minus_one_since_it_is_a_sum_is_known():
    lengths = "s = Shape (x)  t = Shape (z)  p = Gather (s, place)  n = Gather (t, place)  e = Add (p, n)"
    target = "k = Concat <axis: int = 0> (e, minus)  q = Equal (k, minus)  w = Where (q, place, k)"
    model = graph(
        f"{PARTS} {{ {lengths}  {target}  u = Expand (m, w)  y = Concat <axis: int = 1> (x, z) }}",
        {"place": np.array([1]), "minus": np.array([-1]), "m": np.ones((1, 3), np.float32)},
    )
    infer(model)
    found = next(sizes_of(node.outputs[0]) for node in model.graph if node.op_type == "Expand")
    assert found == [Size(1, ("new + past",)), Size(3)]


REST = "s = Shape <start: int = 1, end: int = 2> (x)  c = Concat <axis: int = 1> (x, z)  y = Relu (c)"


@pytest.mark.parametrize(
    ("start", "end", "length"),
    [
        ("s", "most", [Size(1, ("new",))]),
        ("s", "s", None),
        ("one", "most", None),
        ("minus", "most", None),
        ("none", "s", None),
    ],
)
def test_what_follows_a_part_of_a_sum_is_as_long_as_the_rest(start, end, length):
    numbers = {"one": 1, "minus": -1, "none": 0, "most": 2**63 - 1}
    model = graph(
        f"{PARTS} {{ {REST}  t = Slice (c, {start}, {end}, one) }}",
        {name: np.array([number]) for name, number in numbers.items()},
    )
    infer(model, names_unknown=False)
    sizes = sizes_of(next(node.outputs[0] for node in model.graph if node.op_type == "Slice"))
    assert sizes == (None if length is None else [Size(1, ("b",)), *length, Size(3)])
