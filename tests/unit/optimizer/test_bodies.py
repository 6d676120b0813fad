"""Bodies are found again after passes, and what decides of them is known."""

import numpy as np
import pytest
from graphs import graph

from irbench.optimizer.body_check import bodies_in, number_bodies
from irbench.optimizer.passes.remove_redundant import remove_redundant

WEIGHTS = {"n": np.array(3), "true": np.array(True), "limit": np.float32(1), "two": np.array(2)}
SIGNATURE = "(float[batch,2] x, bool c, int64 trips) => (float[batch,2] y)"
SIDES = """
    then_branch = yes () => (float[batch,2] o1) { i = Identity (x)  o1 = Neg (i) },
    else_branch = no () => (float[batch,2] o2) { o2 = Relu (x) }
"""


def numbered(body):
    model = graph(f"{SIGNATURE} {{ {body} }}", WEIGHTS, 18)
    return model, number_bodies(model)


def loop(trips="trips", inside="after = Neg (h)  go = Identity (again)"):
    inner = f"inner (int64 i, bool again, float[batch,2] h) => (bool go, float[batch,2] after) {{ {inside} }}"
    return f"y = Loop <body: graph = {inner}> ({trips}, true, x)"


def test_both_branches_of_an_if_are_numbered_in_their_order():
    _, bodies = numbered(f"y = If (c) <{SIDES}>")
    assert [(body.number, body.operator, body.part, body.node) for body in bodies] == [
        (0, "If", "then_branch", "y"),
        (1, "If", "else_branch", "y"),
    ]


def test_a_body_inside_another_knows_what_it_is_in():
    inside = f"after = If (again) <{SIDES}>  go = Identity (again)"
    _, bodies = numbered(loop(inside=inside))
    assert [body.outer for body in bodies] == [(), (0,), (0,)]


def test_bodies_are_found_again_after_a_pass():
    model, _ = numbered(f"y = If (c) <{SIDES}>")
    assert remove_redundant(model)
    assert list(bodies_in(model)) == [0, 1]


DECIDED = {
    "an input": (f"y = If (c) <{SIDES}>", True),
    "values": (f"s = ReduceSum <keepdims: int = 0> (x)  d = Greater (s, limit)  y = If (d) <{SIDES}>", True),
    "shapes": (f"s = Size (x)  d = Greater (s, two)  y = If (d) <{SIDES}>", False),
    "trips": (loop(), True),
    "constant trips": (loop("n"), False),
    "trips from a shape": ("s = Size (x)  " + loop("s"), False),
    "a counter": (loop("n", "after = Neg (h)  go = Less (i, two)"), False),
    "a state": (loop("n", "after = Neg (h)  s = ReduceSum <keepdims: int = 0> (h)  go = Greater (s, limit)"), True),
}


@pytest.mark.parametrize("case", DECIDED)
def test_what_decides_of_a_body_is_data_or_only_shapes_and_constants(case):
    text, decides = DECIDED[case]
    assert numbered(text)[1][0].data_decides == decides


def test_a_condition_at_the_end_of_a_long_chain_is_followed():
    chain = "  ".join(f"s{place + 1} = Neg (s{place})" for place in range(3000))
    text = f"s0 = ReduceSum <keepdims: int = 0> (x)  {chain}  d = Greater (s3000, limit)  y = If (d) <{SIDES}>"
    assert numbered(text)[1][0].data_decides


def test_a_branch_that_a_constant_excludes_is_never_executed():
    _, (yes, no) = numbered(f"y = If (true) <{SIDES}>")
    assert (yes.never, no.never) == (False, True)
