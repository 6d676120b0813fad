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
    infer(model)
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
    infer(model)
    assert {value.name: sizes_of(value) for node in model.graph for value in node.outputs}["u"] == length


@pytest.mark.parametrize("size", ["n", "8"])
def test_a_slice_whose_bounds_are_attributes_as_before_opset_10_is_left_to_onnx(size):
    body = "s = Slice <starts: ints = [0], ends: ints = [4], axes: ints = [1]> (x)  y = Exp (s)"
    model = graph(f"(float[b,{size}] x) => (float[b,4] y) {{ {body} }}", opset=9)
    infer(model)
    assert sizes_of(next(iter(model.graph)).outputs[0]) == (None if size == "n" else [Size(1, ("b",)), Size(4)])
