import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.stack_to_transpose import stack_to_transpose

FEED = {"x": random(2, 3, 8)}
SPLIT = "a, b = Split <axis: int = -1, num_outputs: int = 2> (x)"
SLICES = "a = Slice (x, zero, four, last)  b = Slice (x, four, end, last)"
EVERY_SECOND = "a = Slice (x, zero, end, last, two)  b = Slice (x, one, end, last, two)"
NUMBERS = {"zero": [0], "one": [1], "two": [2], "three": [3], "four": [4], "end": [99], "last": [-1]}


def make(parts, axis=2, stack="(u, v)", output="float[a,b,c,d] y", inputs="float[2,3,8] x", **weights):
    where = {1: "one", 2: "two", 3: "three"}[axis]
    body = f"{parts}  u = Unsqueeze (a, {where})  v = Unsqueeze (b, {where})  y = Concat <axis: int = {axis}> {stack}"
    numbers = {name: np.array(number) for name, number in NUMBERS.items()}
    return graph(f"({inputs}) => ({output}) {{ {body} }}", {**numbers, **weights})


@pytest.mark.parametrize("parts", [SPLIT, SLICES], ids=["split", "slices"])
@pytest.mark.parametrize(
    ("axis", "left"), [(1, ["Reshape", "Transpose"]), (2, ["Reshape"]), (3, ["Reshape", "Transpose"])]
)
def test_rule_1_takes_parts_one_after_another(parts, axis, left):
    assert applied(stack_to_transpose, make(parts, axis), FEED) == left


@pytest.mark.parametrize(("axis", "left"), [(2, ["Reshape", "Transpose"]), (3, ["Reshape"])])
def test_rule_1_takes_every_second_element(axis, left):
    assert applied(stack_to_transpose, make(EVERY_SECOND, axis), FEED) == left


def test_leading_axes_may_be_dynamic():
    model = make(SPLIT, 3, inputs="float[batch,tokens,8] x", output="float[batch,tokens,4,2] y")
    assert applied(stack_to_transpose, model, FEED) == ["Reshape", "Transpose"]


NO_STACK = {
    "parts change places": (SPLIT, "(v, u)"),
    "a part is there twice": (SPLIT, "(u, u)"),
    "a part is missing": ("a, b, c = Split <axis: int = -1, num_outputs: int = 3> (x)", "(u, v)"),
    "parts overlap": (SLICES.replace("(x, four", "(x, three"), "(u, v)"),
    "parts are of different values": (f"z = Relu (x)  {SLICES.replace('b = Slice (x', 'b = Slice (z')}", "(u, v)"),
}


@pytest.mark.parametrize("case", NO_STACK)
def test_nothing_changes_where(case):
    parts, stack = NO_STACK[case]
    inputs = "float[2,3,9] x" if "missing" in case else "float[2,3,8] x"
    if "overlap" in case:
        parts, inputs = parts.replace("end, last)", "seven, last)"), "float[2,3,8] x"
    assert kept(stack_to_transpose, make(parts, 2, stack, inputs=inputs, seven=np.array([7])))


def test_parts_of_another_axis_are_left():
    parts = "a, b = Split <axis: int = 0, num_outputs: int = 2> (x)"
    assert kept(stack_to_transpose, make(parts))
