import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.onnx.shapes import infer
from irbench.optimizer.passes.fold_shapes import fold_shapes

NUMBERS = {"zero": np.array([0]), "one": np.array([1]), "two": np.array([2]), "minus": np.array([-1])}
NUMBERS |= {"four": np.array([4]), "first": np.array([0, 1]), "true": np.array(True)}


def make(body, x="float[2,6,8] x", y="float[a,b,c] y", opset=18, **weights):
    return graph(f"({x}) => ({y}) {{ {body} }}", {**NUMBERS, **weights}, opset)


ELEMENTS = {
    "a slice": "s = Shape (x)  t = Slice (s, zero, two, zero)",
    "a gathering": "s = Shape (x)  t = Gather (s, first)",
    "a cast": "s = Shape (x)  i = Cast <to: int = 6> (s)  g = Gather (i, first)  t = Cast <to: int = 7> (g)",
    "a truth": "s = Shape (x)  q = Cast <to: int = 9> (s)  i = Cast <to: int = 7> (q)  t = Gather (i, first)",
    "a product": "s = Shape (x)  g = Gather (s, first)  t = ReduceProd (g)",
    "a part of a shape": "t = Shape <start: int = 1, end: int = -1> (x)",
    "a squeezed number": "s = Shape (x)  g = Gather (s, one)  q = Squeeze (g)  t = Unsqueeze (q, zero)",
    "the larger": "s = Shape (x)  g = Gather (s, one)  t = Max (g, two)",
    "a multiple": "s = Shape (x)  g = Gather (s, one)  t = Mul (g, two)",
}


@pytest.mark.parametrize("case", ELEMENTS)
def test_rule_1_computes_from_known_sizes(case):
    inputs = "float[2,6,8] x, int64[1] k"
    model = make(f"{ELEMENTS[case]}  y = Add (t, k)", inputs, "int64[n] y")
    assert applied(fold_shapes, model, {"x": random(2, 6, 8), "k": np.array([5])}) == ["Add"]


def test_rule_1_leaves_what_a_free_size_reaches():
    assert kept(fold_shapes, make("y = Shape (x)", "float[batch,6] x", "int64[2] y"))


UNFIT = {
    "a large number in a byte": "c = Cast <to: int = 2> (large)",
    "a huge number in 32 bits": "c = Cast <to: int = 6> (huge)",
    "a negative number without a sign": "c = Cast <to: int = 2> (minus)",
    "a product that overflows": "i = Cast <to: int = 6> (wide)  c = Mul (i, i)",
    "a product of all elements that overflows": "i = Cast <to: int = 6> (wides)  c = ReduceProd (i)",
}


@pytest.mark.parametrize("case", UNFIT)
def test_rule_1_does_not_follow(case):
    numbers = {"large": [300], "huge": [2**40], "wide": [2**20], "wides": [2**20, 2**20]}
    arrays = {name: np.array(held) for name, held in numbers.items()}
    model = make(f"{UNFIT[case]}  y = Relu (x)", "float[2] x", "float[2] y", **arrays)
    assert "c" not in [value.name for value in infer(model)]


def test_a_free_size_is_not_followed_into_a_byte():
    model = make("s = Shape (x)  c = Cast <to: int = 2> (s)  y = Relu (x)", "float[batch] x", "float[batch] y")
    assert [value.name for value in infer(model) if value.producer() is not None] == ["s"]


def test_a_product_over_no_axes_may_leave_every_element():
    body = "s = Shape (x)  p = ReduceProd <noop_with_empty_axes: int = 1> (s)  y = Add (p, k)"
    model = make(body, "float[2,6] x, int64[2] k", "int64[2] y")
    assert applied(fold_shapes, model, {"x": random(2, 6), "k": np.array([5, 7])}) == ["Add"]


TARGETS = {
    "every size": (
        "float[2,6,8] x",
        "s = Shape (x)  b = Gather (s, zero)  t = Concat <axis: int = 0> (b, minus, four)",
        [2, 12, 4],
    ),
    "a dynamic batch that stays": (
        "float[batch,6,8] x",
        "s = Shape (x)  b = Gather (s, zero)  t = Concat <axis: int = 0> (b, minus, four)",
        [0, 12, 4],
    ),
    "a dynamic batch that moves": (
        "float[batch,6,8] x",
        "s = Shape (x)  b = Gather (s, zero)  t = Concat <axis: int = 0> (four, minus, b)",
        [4, 12, -1],
    ),
    "a dynamic batch multiplied along its axis": (
        "float[batch,6,8] x",
        "s = Shape (x)  g = Gather (s, first)  p = ReduceProd (g, zero)  t = Concat <axis: int = 0> (one, p, minus)",
        [1, -1, 8],
    ),
    "a dynamic batch written as what is left": (
        "float[batch,6,8] x",
        "t = Concat <axis: int = 0> (minus, four, twelve)",
        [0, 4, 12],
    ),
}


@pytest.mark.parametrize("case", TARGETS)
def test_rule_2_settles_the_target_of_a_reshape(case):
    x, body, target = TARGETS[case]
    model = make(f"{body}  y = Reshape (x, t)", x, twelve=np.array([12]))
    assert applied(fold_shapes, model, {"x": random(2, 6, 8)}) == ["Reshape"]
    assert next(iter(model.graph)).inputs[1].const_value.numpy().tolist() == target


def test_rule_2_leaves_a_target_with_two_free_sizes_out_of_place():
    body = "s = Shape (x)  r = Gather (s, backwards)  y = Reshape (x, r)"
    model = make(body, "float[batch,length] x", "float[a,b] y", backwards=np.array([1, 0]))
    assert kept(fold_shapes, model)


def test_rule_3_drops_an_expansion_to_the_same_size():
    model = make("s = Shape (x)  e = Expand (x, s)  y = Relu (e)", "float[batch,6] x", "float[batch,6] y")
    assert applied(fold_shapes, model, {"x": random(2, 6)}) == ["Relu"]


def test_rule_3_keeps_an_expansion_that_stretches():
    assert kept(fold_shapes, make("e = Expand (x, two)  y = Relu (e)", "float[1] x", "float[2] y"))


def test_rule_4_computes_a_table_of_positions():
    body = """
        s = Shape (x)  i = Cast <to: int = 6> (s)  n = Gather (i, length)  r = Range (start, n, step)
        f = Cast <to: int = 1> (r)  p = Sin (f)  y = Add (x, p)
    """
    numbers = {"start": np.array(0, np.int32), "step": np.array(1, np.int32), "length": np.array(1)}
    model = make(body, "float[batch,6] x", "float[batch,6] y", **numbers)
    assert applied(fold_shapes, model, {"x": random(2, 6)}) == ["Add"]


def windows(length):
    """Return a mask of two kinds of places, as Swin's exporters write it, that is added to an input."""
    body = "z = ConstantOfShape (sizes)  m = ScatterND (z, places, ones)  y = Add (x, m)"
    numbers = {"sizes": np.array([length]), "places": np.array([[0], [2]]), "ones": np.ones(2, np.float32)}
    return make(body, "float[batch,1] x", f"float[batch,{length}] y", **numbers)


def test_rule_4_computes_a_mask_that_begins_with_zeros_of_a_known_shape():
    assert applied(fold_shapes, windows(6), {"x": random(2, 1)}) == ["Add"]


def test_rule_4_leaves_zeros_of_which_the_file_would_grow():
    assert kept(fold_shapes, windows(1 << 19))


KEPT = ["RandomNormalLike (k)", "Bernoulli (k)", "Dropout (k, s, true)", "DequantizeLinear (q, s)"]


@pytest.mark.parametrize("weight", KEPT)
def test_rule_4_leaves_random_numbers_and_quantised_weights(weight):
    numbers = {"k": np.full(6, 0.5, np.float32), "q": np.ones(6, np.int8), "s": np.float32(0.5)}
    model = make(f"w = {weight}  y = Add (x, w)", "float[batch,6] x", "float[batch,6] y", **numbers)
    assert kept(fold_shapes, model)


def test_rule_4_leaves_sequences():
    body = "s = SplitToSequence <axis: int = 0> (numbers, two)  n = SequenceAt (s, at)  y = Add (x, n)"
    numbers = {"numbers": random(4, 6), "at": np.array(0), "two": np.array(2)}
    assert kept(fold_shapes, make(body, "float[2,6] x", "float[2,6] y", **numbers))


def test_the_largest_of_one_is_left_to_the_runtime():
    model = make("s = Shape (x)  t = Max (s)  y = Add (t, k)", "float[batch,6] x, int64[2] k", "int64[2] y")
    assert kept(fold_shapes, model)


def test_free_sizes_are_followed_by_name():
    body = """
        r = Reshape (x, rows)  m = MatMul (r, w)  s = Shape (x)  g = Gather (s, first)
        t = Concat <axis: int = 0> (g, four)  y = Reshape (m, t)
    """
    model = make(body, "float[batch,length,8] x", "float[a,b,4] y", rows=np.array([-1, 8]), w=random(8, 4))
    infer(model)
    shapes = {value.name: str(value.shape) for node in model.graph for value in node.outputs}
    assert shapes["r"] == "[batch*length,8]"
    assert shapes["m"] == "[batch*length,4]"
