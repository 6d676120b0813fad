import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.remove_full_slices import remove_full_slices

X = random(2, 3, 8)
SECOND = {"s": np.array([0]), "a": np.array([1])}
NO_END = [10**9, 2**31 - 1, 2**63 - 1]


def make(start, end, axes=(1,), steps=None, sizes="2,3,8", taken="a,b,c"):
    weights = {"s": np.array(start), "e": np.array(end), "a": np.array(axes)}
    weights |= {} if steps is None else {"t": np.array(steps)}
    body = f"z = Slice ({', '.join(['x', *weights])})  y = Relu (z)"
    return graph(f"(float[{sizes}] x) => (float[{taken}] y) {{ {body} }}", weights)


@pytest.mark.parametrize("end", [3, 5, *NO_END])
def test_rule_1_drops_a_slice_to_the_end_of_an_axis_or_beyond(end):
    assert applied(remove_full_slices, make([0], [end]), {"x": X}) == ["Relu"]


@pytest.mark.parametrize("end", NO_END)
def test_an_axis_may_be_dynamic_where_the_end_is_beyond_any(end):
    model = make([0, 0], [end, end], (0, -1), (1, 1), "batch,tokens,8")
    assert applied(remove_full_slices, model, {"x": X}) == ["Relu"]


def test_a_dynamic_axis_is_taken_whole_up_to_its_own_size():
    body = "e = Shape <start: int = 1, end: int = 2> (x)  z = Slice (x, s, e, a)  y = Relu (z)"
    model = graph(
        f"(float[batch,tokens,8] x) => (float[batch,b,8] y) {{ {body} }}", {"s": np.array([0]), "a": np.array([1])}
    )
    assert applied(remove_full_slices, model, {"x": X}) == ["Relu"]


def test_axes_that_are_not_named_are_the_first_ones():
    model = graph(
        "(float[2,3,8] x) => (float[2,3,8] y) { z = Slice (x, s, e)  y = Relu (z) }",
        {"s": np.array([0, 0]), "e": np.array([2, 3])},
    )
    assert applied(remove_full_slices, model, {"x": X}) == ["Relu"]


PARTIAL = {
    "it starts later": {"start": [1], "end": [3]},
    "it starts from the end": {"start": [-1], "end": [3]},
    "it ends earlier": {"start": [0], "end": [2]},
    "it ends before the last": {"start": [0], "end": [-1]},
    "one of two axes is cut": {"start": [0, 0], "end": [3, 4], "axes": (1, 2)},
    "it takes every second": {"start": [0], "end": [3], "steps": (2,)},
    "it is reversed": {"start": [2], "end": [-9], "steps": (-1,)},
    "the axis is dynamic and may be longer": {"start": [0], "end": [1000], "sizes": "2,tokens,8"},
}


@pytest.mark.parametrize("case", PARTIAL)
def test_a_slice_stays_where(case):
    assert kept(remove_full_slices, make(**PARTIAL[case]))


def test_a_slice_to_another_dynamic_size_stays():
    body = "e = Shape (o)  z = Slice (x, s, e, a)  y = Relu (z)"
    signature = "(float[batch,tokens,8] x, float[others] o) => (float[batch,b,8] y)"
    assert kept(remove_full_slices, graph(f"{signature} {{ {body} }}", SECOND))


def test_a_slice_of_what_has_unknown_sizes_stays():
    model = make([0], [2**31 - 1])
    model.graph.inputs[0].shape = None
    assert kept(remove_full_slices, model)


def test_a_slice_that_is_an_output_stays():
    text = "(float[2,3] x) => (float[2,3] y) { y = Slice (x, s, e) }"
    assert kept(remove_full_slices, graph(text, {"s": np.array([0]), "e": np.array([9])}))
