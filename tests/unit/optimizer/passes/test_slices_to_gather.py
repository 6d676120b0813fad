import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.slices_to_gather import slices_to_gather

FEED = {"x": random(2, 6, 5)}
NUMBERS = {"zero": [0], "one": [1], "two": [2], "four": [4], "six": [6], "end": [2**31 - 1], "back": [-1], "low": [-99]}
NUMBERS |= {"starts": [0, 2], "ends": [10**9, 6], "axes": [0, 1]}
ROLL = "a = Slice (x, two, end, one)  b = Slice (x, zero, two, one)"


def make(slices=ROLL, joined="Concat <axis: int = 1> (a, b)", inputs="float[2,6,5] x", output="float[c,d,e] y"):
    numbers = {name: np.array(number) for name, number in NUMBERS.items()}
    return graph(f"({inputs}) => ({output}) {{ {slices}  y = {joined} }}", numbers)


@pytest.mark.parametrize("inputs", ["float[2,6,5] x", "float[batch,6,width] x"])
def test_rule_1_takes_a_roll(inputs):
    assert applied(slices_to_gather, make(inputs=inputs), FEED) == ["Gather"]


SLICES = {
    "that overlap": "a = Slice (x, zero, four, one)  b = Slice (x, two, end, one)",
    "that leave something out": "a = Slice (x, zero, one, one)  b = Slice (x, four, six, one)",
    "with steps": "a = Slice (x, zero, end, one, two)  b = Slice (x, one, end, one, two)",
    "backwards": "a = Slice (x, back, low, one, back)  b = Slice (x, zero, two, one)",
    "that name other axes": "a = Slice (x, starts, ends, axes)  b = Slice (x, zero, two, one)",
}


@pytest.mark.parametrize("case", SLICES)
def test_rule_1_takes_slices(case):
    assert applied(slices_to_gather, make(SLICES[case]), FEED) == ["Gather"]


KEPT = {
    "slices are of different tensors": make(ROLL.replace("b = Slice (x", "z = Relu (x)  b = Slice (z")),
    "slices are of another axis": make(
        "a = Slice (x, zero, two, two)  b = Slice (x, two, four, two)", output="float[2,12,2] y"
    ),
    "it is the last axis": make(
        "a = Slice (x, two, end, two)  b = Slice (x, zero, two, two)", "Concat <axis: int = 2> (a, b)"
    ),
    "axes of one element follow": make(inputs="float[2,6,1] x"),
    "there would be too many indices": make(inputs="float[2,1099511627776,5] x"),
    "something else is joined": make("a = Slice (x, zero, two, one)  b = Relu (x)"),
    "a slice is read elsewhere": make(output="float[c,d,e] y, float[2,2,5] b"),
    "a slice is there twice": make(joined="Concat <axis: int = 1> (a, b, b)"),
    "the axis is dynamic": make(inputs="float[2,length,5] x"),
    "a bound is not known": make(ROLL.replace("(x, two", "(x, n"), inputs="float[2,6,5] x, int64[1] n"),
}


@pytest.mark.parametrize("case", KEPT)
def test_nothing_changes_where(case):
    assert kept(slices_to_gather, KEPT[case])
