import numpy as np
import pytest
from graphs import applied, graph, kept, random

from irbench.optimizer.passes.settle_reshapes import settle_reshapes

WEIGHTS = {"w": random(4, 4), "c": random(4), "wide": random(6, 4), "one": np.ones(4, np.float32)}
WEIGHTS |= {"flat": np.array([2, 6, 4]), "square": np.array([2, 2, 3, 4]), "rows": np.array([12, 4])}
FEED = {"x": random(2, 2, 3, 4)}
NORM = "LayerNormalization <axis: int = {axis}>"


def make(body, outputs="float[2,2,3,4] y", inputs="float[2,2,3,4] x"):
    return graph(f"({inputs}) => ({outputs}) {{ {body} }}", WEIGHTS)


@pytest.mark.parametrize(
    "operation",
    [
        *("MatMul (a, w)", "Add (a, c)", "Mul (c, a)", "Add (a, a)", "Gelu (a)"),
        *(f"{NORM.format(axis=-1)} (a, one, c)", f"{NORM.format(axis=2)} (a, one)"),
    ],
)
def test_rule_1_works_on_the_rows_as_they_came(operation):
    model = make(f"a = Reshape (x, flat)  b = {operation}  y = Reshape (b, square)")
    assert applied(settle_reshapes, model, FEED) == [operation.split(" ")[0]]


def test_rule_1_takes_in_a_residual_connection():
    body = "a = Reshape (x, flat)  b = Relu (a)  d = MatMul (b, w)  e = Add (a, d)  y = Reshape (e, square)"
    assert applied(settle_reshapes, make(body), FEED) == ["Relu", "MatMul", "Add"]


def test_rule_1_leaves_out_what_asks_for_the_grouping_that_there_is():
    body = "a = Reshape (x, flat)  b = Relu (a)  d = Add (b, c)  z = Transpose <perm: ints = [0, 2, 1]> (d)"
    model = make(f"{body}  e = MatMul (b, w)  y = Reshape (e, square)", "float[2,2,3,4] y, float[2,4,6] z")
    found = applied(settle_reshapes, model, FEED)
    assert sorted(found) == ["Add", "MatMul", "Relu", "Reshape", "Transpose"]


def test_rule_1_reshapes_at_once_to_what_a_reader_asks_for():
    body = "a = Reshape (x, flat)  b = Relu (a)  z = Reshape (b, rows)  y = Reshape (b, square)"
    assert applied(settle_reshapes, make(body, "float[2,2,3,4] y, float[12,4] z"), FEED) == ["Relu", "Reshape"]


def test_a_constant_may_be_rows_of_one_operation_and_the_matrix_of_another():
    body = "a = Reshape (x, four)  b = MatMul (a, w)  d = Add (b, w)  e = Relu (d)  y = Reshape (e, two)"
    body += "  f = Reshape (e, square)  z = Neg (f)"
    weights = {**WEIGHTS, "four": np.array([4, 4]), "two": np.array([2, 2, 4]), "square": np.array([2, 2, 4])}
    model = graph(f"(float[2,2,4] x) => (float[2,2,4] y, float[2,2,4] z) {{ {body} }}", weights)
    found = applied(settle_reshapes, model, {"x": random(2, 2, 4)})
    assert sorted(found) == ["Add", "MatMul", "Neg", "Relu", "Reshape"]


def test_the_batch_may_be_dynamic():
    weights = {**WEIGHTS, "flat": np.array([0, 6, 4]), "square": np.array([0, 2, 3, 4])}
    text = "a = Reshape (x, flat)  b = Relu (a)  y = Reshape (b, square)"
    model = graph(f"(float[batch,2,3,4] x) => (float[batch,2,3,4] y) {{ {text} }}", weights)
    assert applied(settle_reshapes, model, FEED) == ["Relu"]


def test_a_branch_reads_rows_as_they_were_grouped():
    branch = "{name} () => (float[2,2,3,4] {name}_y) {{ {name}_y = Reshape (b, square) }}"
    branches = ", ".join(f"{name}_branch = {branch.format(name=name)}" for name in ("then", "else"))
    body = f"a = Reshape (x, flat)  b = Relu (a)  y = Reshape (b, square)  z = If (flag) <{branches}>"
    outputs = "float[2,2,3,4] y, float[2,2,3,4] z"
    model = make(body, outputs, "float[2,2,3,4] x, bool flag")
    assert applied(settle_reshapes, model, {**FEED, "flag": np.array(True)}) == ["Relu", "Reshape", "If"]


KEPT = {
    "no reshape would be saved": "a = Reshape (x, flat)  b = Relu (a)  y = Softmax <axis: int = 1> (b)",
    "the rows are cut": "a = Reshape (x, rows_of_two)  b = Relu (a)  y = Reshape (b, square)",
    "a constant differs from row to row": "a = Reshape (x, flat)  b = Add (a, wide)  y = Reshape (b, square)",
    "it is normalised over more than the rows": (
        "a = Reshape (x, flat)  b = LayerNormalization <axis: int = 1> (a, wide)  y = Reshape (b, square)"
    ),
    "every sample has a matrix of its own": (
        "a = Reshape (x, flat)  b = MatMul (a, matrices)  y = Reshape (b, square)"
    ),
}


@pytest.mark.parametrize("case", KEPT)
def test_nothing_changes_where(case):
    weights = {**WEIGHTS, "rows_of_two": np.array([2, 12, 2]), "matrices": random(2, 4, 4)}
    output = "float[2,6,4] y" if "saved" in case else "float[2,2,3,4] y"
    assert kept(settle_reshapes, graph(f"(float[2,2,3,4] x) => ({output}) {{ {KEPT[case]} }}", weights))
