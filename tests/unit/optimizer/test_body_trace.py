"""A traced graph answers as before, counts what is executed, and goes where it is sent."""

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest
from graphs import graph

from irbench.optimizer.body_check import UNDIRECTED, Directions, number_bodies, trace

WEIGHTS = {"true": np.array(True), "rows": np.ones((3, 2), np.float32)}
X = np.float32([[1, -2]])
SIDES = """
    then_branch = yes () => (float[1,2] o1) {{ o1 = Neg ({then}) }},
    else_branch = no () => (float[1,2] o2) {{ o2 = Relu (x) }}
"""
IF = f"y = If (c) <{SIDES.format(then='x')}>"
LOOP = """
    y, all = Loop <body: graph = inner (int64 i, bool again, float[1,2] h)
        => (bool go, float[1,2] after, float[1,2] part)
        { after = Add (h, x)  part = Identity (h)  go = Identity (again) }> (trips, true, x)
"""
SCAN = """
    y, all = Scan <num_scan_inputs: int = 1, scan_output_axes: ints = [0], body: graph = inner
        (float[1,2] h, float[2] row)
        => (float[1,2] after, float[2] part) { after = Add (h, row)  part = Neg (row) }> (x, rows)
"""
NESTED = """
    y = Loop <body: graph = inner (int64 i, bool again, float[1,2] h) => (bool go, float[1,2] after) {
        first = Equal (i, trips)
        after = If (c) <
            then_branch = yes () => (float[1,2] o1) { o1 = Add (h, x) },
            else_branch = no () => (float[1,2] o2) { o2 = Neg (h) }
        >
        go = Identity (again)
    }> (trips, true, x)
"""


def run(model, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    proto = ir.to_proto(model).SerializeToString()
    return onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"]).run(None, feed)


def asked(body, directions=UNDIRECTED, outputs="float[1,2] y", **feed):
    """Return what a graph answers, what its traced copy does, and what that counts."""
    model = graph(f"(float[1,2] x, bool c, int64 trips) => ({outputs}) {{ {body} }}", WEIGHTS, 18)
    bodies = number_bodies(model)
    traced = trace(model, len(bodies))
    feed = {
        "x": X,
        "c": np.array(True),
        "trips": np.array(2),
        **{name: np.array(value) for name, value in feed.items()},
    }
    added = dict(zip((spec.name for spec in traced.inputs), traced.feed(directions), strict=True))
    *answers, counts = run(traced.model, {**feed, **added})
    return run(model, feed), answers, counts.tolist()


@pytest.mark.parametrize(
    ("body", "feed", "counts"),
    [
        (IF, {"c": True}, [1, 0]),
        (IF, {"c": False}, [0, 1]),
        (LOOP, {"trips": 3}, [3]),
        (LOOP, {"trips": 0}, [0]),
        (SCAN, {}, [3]),
        (NESTED, {"trips": 4, "c": True}, [4, 4, 0]),
        (NESTED, {"trips": 4, "c": False}, [4, 0, 4]),
    ],
)
def test_a_traced_graph_answers_as_before_and_counts_executions(body, feed, counts):
    before, after, counted = asked(body, **feed)
    assert counted == counts
    for expected, answer in zip(before, after, strict=True):
        assert np.array_equal(expected, answer)


def test_all_outputs_of_a_loop_and_a_scan_stay():
    for body, shape in ((LOOP, "n,1,2"), (SCAN, "n,2")):
        before, after, _ = asked(body, outputs=f"float[1,2] y, float[{shape}] all")
        assert all(np.array_equal(expected, answer) for expected, answer in zip(before, after, strict=True))


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize(("branch", "answer"), [(0, -X), (1, np.maximum(X, 0))])
def test_a_branch_is_taken_whatever_its_condition(branch, answer, c):
    _, (found,), counts = asked(IF, Directions(frozenset([branch])), c=c)
    assert np.array_equal(found, answer)
    assert counts[branch] == 1


@pytest.mark.parametrize("iterations", [0, 1])
def test_a_loop_runs_no_more_often_than_it_is_told(iterations):
    _, (found,), counts = asked(LOOP, Directions(iterations={0: iterations}), trips=3)
    assert np.array_equal(found, X * (1 + iterations))
    assert counts == [iterations]


def test_a_loop_that_ends_earlier_by_itself_does_so():
    assert asked(LOOP, Directions(iterations={0: 1}), trips=0)[2] == [0]


def test_the_model_itself_stays():
    model = graph(f"(float[1,2] x, bool c) => (float[1,2] y) {{ {IF} }}", WEIGHTS, 18)
    before = str(ir.to_proto(model))
    trace(model, len(number_bodies(model)))
    assert str(ir.to_proto(model)) == before
