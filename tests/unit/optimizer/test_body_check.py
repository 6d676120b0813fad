"""What no input executes is sent for, compared, and otherwise reported."""

import numpy as np
import pytest
from graphs import graph

from irbench.optimizer.body_check import UNDIRECTED, Body, TracedAnswers, bodies_in, check_bodies, number_bodies
from irbench.optimizer.check_plan import CheckCase
from irbench.optimizer.passes.remove_redundant import remove_redundant

CASES = [CheckCase("seeded", {"batch": 2}), CheckCase("zeros", {"batch": 1})]
THEN, ELSE = Body(0, "If", "y", "then_branch"), Body(1, "If", "y", "else_branch")
LOOP = Body(0, "Loop", "z", "body")


class Original:
    """A graph of which both are scripted: where inputs lead, and what happens where it is sent."""

    def __init__(self, natural, sent=lambda directions: np.ones(1)):
        self.natural, self.sent, self.asked = natural, sent, []

    def __call__(self, case, directions):
        self.asked.append((case, directions))
        if directions == UNDIRECTED:
            return TracedAnswers([np.zeros(1)], self.natural)
        counts = [
            int(number in directions.branches or number in directions.iterations)
            for number, _ in enumerate(self.natural)
        ]
        return TracedAnswers([self.sent(directions)], counts)


def checked(bodies, original, kept=None):
    compared = []
    kept = frozenset(body.number for body in bodies) if kept is None else frozenset(kept)
    report = check_bodies(bodies, kept, CASES, original, lambda case, directions, outputs: compared.append(directions))
    return report, compared


def fail(_):
    raise RuntimeError("shapes do not fit")


def test_a_branch_that_no_input_leads_to_is_taken_and_compared():
    report, compared = checked([THEN, ELSE], Original([1, 0]))
    assert [directions.branches for directions in compared] == [{1}]
    assert (report.executed, report.unchecked) == (2, ())


def test_what_inputs_lead_to_is_not_asked_again():
    original = Original([1, 1])
    assert checked([THEN, ELSE], original)[1] == []
    assert len(original.asked) == len(CASES)


def test_a_branch_inside_another_is_reached_through_it():
    inner = Body(2, "If", "z", "then_branch", outer=(1,))
    _, compared = checked([THEN, ELSE, inner], Original([1, 0, 0]))
    assert {1, 2} in [directions.branches for directions in compared]


@pytest.mark.parametrize(("sent", "reason"), [(fail, "original-fails"), (lambda _: np.float32([np.nan]), "not-finite")])
def test_a_branch_where_the_original_has_no_answer_is_unchecked(sent, reason):
    report, compared = checked([THEN, ELSE], Original([1, 0], sent))
    (unchecked,) = report.unchecked
    assert (unchecked.operator, unchecked.node, unchecked.part, unchecked.reason) == ("If", "y", "else_branch", reason)
    assert (compared, report.executed) == ([], 1)


def test_a_branch_that_only_shapes_decide_is_not_sent_for():
    other = Body(1, "If", "y", "else_branch", data_decides=False)
    report, compared = checked([THEN, other], Original([1, 0]))
    assert [unchecked.reason for unchecked in report.unchecked] == ["other-shapes"]
    assert compared == []


def test_a_branch_that_a_constant_excludes_is_no_loss():
    report, _ = checked([THEN, Body(1, "If", "y", "else_branch", never=True)], Original([1, 0]))
    assert report.unchecked == ()


def test_a_body_that_no_graph_has_any_more_is_no_loss():
    report, _ = checked([THEN, ELSE], Original([1, 0]), kept=[0])
    assert (report.unchecked, report.executed) == ((), 1)


def test_a_loop_also_runs_no_and_one_iteration():
    _, compared = checked([LOOP], Original([3]))
    assert [directions.iterations for directions in compared] == [{0: 0}, {0: 1}]


def test_a_loop_of_which_shapes_decide_the_length_runs_as_it_does():
    assert checked([Body(0, "Loop", "z", "body", data_decides=False)], Original([3]))[1] == []


def test_a_loop_that_cannot_run_so_seldom_is_told():
    report, _ = checked([LOOP], Original([3], fail))
    assert [(unchecked.iterations, unchecked.reason) for unchecked in report.unchecked] == [
        (0, "original-fails"),
        (1, "original-fails"),
    ]


def test_a_wrong_answer_is_raised():
    def refuse(*_):
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        check_bodies([THEN, ELSE], frozenset({0, 1}), CASES, Original([1, 0]), refuse)


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
