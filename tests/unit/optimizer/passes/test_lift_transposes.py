import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.lift_transposes import lift_transposes

BEFORE = "t = Transpose <perm: ints = [0, 2, 3, 1]> (x)"
AFTER = "y = Transpose <perm: ints = [0, 3, 1, 2]> (v)"
FEED = {"x": random(2, 3, 4, 5)}


def make(body, output="float[2,3,4,5] y", inputs="float[2,3,4,5] x", **weights):
    return graph(f"({inputs}) => ({output}) {{ {body} }}", weights)


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh", "Softplus", "LeakyRelu <alpha: float = 0.3>"])
def test_rule_1_moves_a_transpose_ahead_of_an_activation(activation):
    model = make(f"{BEFORE}  v = {activation} (t)  {AFTER}")
    assert applied(lift_transposes, model, FEED) == [activation.split()[0]]


def test_rule_1_keeps_the_limits_of_a_clip():
    limits = {"low": np.float32(-0.5), "high": np.float32(0.5)}
    assert applied(lift_transposes, make(f"{BEFORE}  v = Clip (t, low, high)  {AFTER}", **limits), FEED) == ["Clip"]


@pytest.mark.parametrize("product", ["v = Mul (t, s)", "v = Mul (s, t)"])
def test_rule_2_moves_a_transpose_ahead_of_a_product_with_an_activation(product):
    model = make(f"{BEFORE}  s = Sigmoid (t)  {product}  {AFTER}")
    assert applied(lift_transposes, model, FEED) == ["Sigmoid", "Mul"]


def test_two_transposes_that_do_not_cancel_become_one():
    body = f"{BEFORE}  v = Relu (t)  y = Transpose <perm: ints = [3, 0, 1, 2]> (v)"
    assert applied(lift_transposes, make(body, "float[3,2,4,5] y"), FEED) == ["Transpose", "Relu"]


def test_dynamic_sizes_are_kept():
    model = make(f"{BEFORE}  v = Relu (t)  {AFTER}", "float[batch,3,h,w] y", "float[batch,3,h,w] x")
    assert applied(lift_transposes, model, FEED) == ["Relu"]


BOTH = "float[2,3,4,5] y, float[2,4,5,3] {}"
KEPT = {
    "nothing changed the layout before": (
        "v = Relu (x)  y = Transpose <perm: ints = [0, 2, 3, 1]> (v)",
        "float[2,4,5,3] y",
    ),
    "somebody else reads the activation": (f"{BEFORE}  v = Relu (t)  {AFTER}  z = Neg (v)", BOTH.format("z")),
    "the activation is an output": (f"{BEFORE}  v = Relu (t)  {AFTER}", BOTH.format("v")),
    "somebody else reads its input": (f"{BEFORE}  v = Relu (t)  {AFTER}  z = Neg (t)", BOTH.format("z")),
    "it is no elementwise operation": (f"{BEFORE}  v = Softmax (t)  {AFTER}", "float[2,3,4,5] y"),
    "the product is with something else": (
        f"{BEFORE}  o = Relu (t)  s = Sigmoid (o)  v = Mul (t, s)  {AFTER}",
        "float[2,3,4,5] y",
    ),
}


@pytest.mark.parametrize("case", KEPT)
def test_a_transpose_stays_where(case):
    body, output = KEPT[case]
    assert kept(lift_transposes, make(body, output))
