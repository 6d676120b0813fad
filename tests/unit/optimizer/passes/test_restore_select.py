import numpy as np
import pytest
from graphs import applied, graph, kept, random
from onnx.reference import ReferenceEvaluator
from onnx_ir import to_proto

from irbench.optimizer.passes.restore_select import restore_select

FEED = {"c": np.array([[True, False, True]]), "a": random(2, 3), "b": random(2, 3) * 3}
SIGNATURE = "(bool[1,3] c, float[2,3] a, float[2,3] b) => (float[2,3] y)"
SUM = "n = Not (c)  p = Cast <to: int = 1> (c)  q = Cast <to: int = 1> (n)"


@pytest.mark.parametrize(
    "orders", ["k = Mul (p, a) l = Mul (b, q) y = Add (k, l)", "k = Mul (a, p) l = Mul (q, b) y = Add (l, k)"]
)
def test_rule_1_sees_a_choice_in_a_sum(orders):
    assert applied(restore_select, graph(f"{SIGNATURE} {{ {SUM} {orders} }}"), FEED) == ["Where"]


def test_rule_1_does_not_let_an_infinity_through_that_was_not_chosen():
    model = graph(f"{SIGNATURE} {{ {SUM} k = Mul (p, a) l = Mul (q, b) y = Add (k, l) }}")
    assert restore_select(model)
    b = np.where(FEED["c"], np.inf, FEED["b"]).astype(np.float32)
    (chosen,) = ReferenceEvaluator(to_proto(model)).run(None, {**FEED, "b": b})
    assert np.isfinite(chosen).all()


CHOICE = "p = Cast <to: int = 1> (c)  q = Cast <to: int = 1> (n)  k = Mul (p, a) l = Mul (q, b) y = Add (k, l)"


def test_a_sum_stays_where_the_conditions_are_not_each_others_opposite():
    signature = "(bool[1,3] c, bool[1,3] d, float[2,3] a, float[2,3] b) => (float[2,3] y)"
    assert kept(restore_select, graph(f"{signature} {{ n = Not (d)  {CHOICE} }}"))


def test_a_sum_stays_where_numbers_take_the_place_of_conditions():
    body = SUM.replace("n = Not (c)", "g = Greater (c, a)  n = Not (g)")
    model = graph(
        f"(float[2,3] c, float[2,3] a, float[2,3] b) => (float[2,3] y) "
        f"{{ {body} k = Mul (p, a) l = Mul (q, b) y = Add (k, l) }}"
    )
    assert kept(restore_select, model)


@pytest.mark.parametrize("read", ["p", "q", "k", "l"])
def test_rule_1_sees_a_choice_of_which_others_read_a_part(read):
    sizes = "1,3" if read in "pq" else "2,3"
    signature = f"(bool[1,3] c, float[2,3] a, float[2,3] b) => (float[2,3] y, float[{sizes}] z)"
    model = graph(f"{signature} {{ n = Not (c)  {CHOICE}  z = Relu ({read}) }}")
    assert "Where" in applied(restore_select, model, FEED)


def test_rule_1_sees_two_choices_that_share_the_casts_of_their_condition():
    signature = "(bool[1,3] c, float[2,3] a, float[2,3] b) => (float[2,3] z)"
    again = "s = Softmax (y)  i = Mul (p, s)  j = Mul (q, zero)  z = Add (i, j)"
    model = graph(f"{signature} {{ n = Not (c)  {CHOICE}  {again} }}", {"zero": np.float32(0)})
    assert applied(restore_select, model, FEED) == ["Where", "Softmax", "Where"]


TRUTH = "t = Expand (true, shape)  m = And (t, c)  y = Where (m, a, b)"
SIZES = {"true": np.array(True), "false": np.array(False), "shape": np.array([2, 3]), "every": np.ones((2, 3), bool)}


@pytest.mark.parametrize(
    "body", [TRUTH, TRUTH.replace("And (t, c)", "And (c, t)"), "m = And (every, c) y = Where (m, a, b)"]
)
def test_rule_2_drops_what_is_always_true(body):
    assert applied(restore_select, graph(f"{SIGNATURE} {{ {body} }}", SIZES), FEED) == ["Where"]


def test_rule_2_keeps_what_stretches_the_result():
    signature = "(bool[1,3] c, float[1,3] a, float[1,3] b) => (float[2,3] y)"
    assert kept(restore_select, graph(f"{signature} {{ {TRUTH} }}", SIZES))


def test_rule_2_keeps_what_is_not_always_true():
    assert kept(restore_select, graph(f"{SIGNATURE} {{ {TRUTH.replace('(true', '(false')} }}", SIZES))


WRAPPED = "l = Less (i, zero)  p = Add (i, count)  w = Where (l, p, i)  y = Gather <axis: int = 1> (x, w)"
CAST = f"f = Cast <to: int = 1> (i)  {WRAPPED.replace('(i, zero)', '(f, zerof)').replace('(i, count)', '(count, i)')}"
INDICES = {"zero": np.array(0, np.int32), "zerof": np.float32(0), "count": np.array(5, np.int32)}


@pytest.mark.parametrize("body", [WRAPPED, CAST])
def test_rule_3_lets_gather_count_from_the_end(body):
    model = graph(f"(int32[4] i, float[2,5] x) => (float[2,4] y) {{ {body} }}", INDICES)
    feed = {"i": np.array([0, -1, 4, -5], np.int32), "x": random(2, 5)}
    assert applied(restore_select, model, feed) == ["Gather"]
    assert next(iter(model.graph)).attributes.get_int("axis", 0) == 1


@pytest.mark.parametrize("changed", [{"count": np.array(4, np.int32)}, {"zero": np.array(1, np.int32)}], ids=str)
def test_rule_3_keeps_indices_that_wrap_elsewhere(changed):
    model = graph(f"(int32[4] i, float[2,5] x) => (float[2,4] y) {{ {WRAPPED} }}", {**INDICES, **changed})
    assert kept(restore_select, model)


@pytest.mark.parametrize("lifting", ["zero", "count"])
def test_rule_3_keeps_what_gives_the_indices_an_axis_more(lifting):
    model = graph(
        f"(int32[4] i, float[2,5] x) => (float[2,1,4] y) {{ {WRAPPED} }}",
        {**INDICES, lifting: INDICES[lifting].reshape(1, 1)},
    )
    assert kept(restore_select, model)


LOWER = np.tri(3, dtype=np.float32).reshape(1, 3, 3)
FOLDED = {"kept": np.repeat(LOWER, 2, 0), "low": np.repeat((1 - LOWER) * np.float32(-1e9), 2, 0)}
SCORES = "(float[2,3,3] x) => (float[2,3,3] y)"


@pytest.mark.parametrize("sum_", ["m = Mul (x, kept) y = Add (m, low)", "m = Mul (kept, x) y = Add (low, m)"])
def test_rule_4_sees_a_choice_whose_condition_was_computed_beforehand(sum_):
    model = graph(f"{SCORES} {{ {sum_} }}", FOLDED)
    assert applied(restore_select, model, {"x": random(2, 3, 3)}) == ["Where"]
    condition, _, other = next(iter(model.graph)).inputs
    assert (condition.shape, other.shape) == ((1, 3, 3), ())


def test_rule_4_keeps_the_numbers_that_differ():
    model = graph(f"{SCORES} {{ m = Mul (x, kept) y = Add (m, low) }}", {**FOLDED, "low": FOLDED["low"] * random(3)})
    assert applied(restore_select, model, {"x": random(2, 3, 3)}) == ["Where"]


STRETCHED = {
    "factor": {"kept": np.array([[1, 0, 1, 0]] * 3, np.float32), "low": np.array([0, -5, 0, -5], np.float32)},
    "shift": {"kept": np.array([1, 0, 1, 0], np.float32), "low": np.array([[0, -5, 0, -5]] * 3, np.float32)},
}


@pytest.mark.parametrize("stretching", STRETCHED)
def test_rule_4_keeps_what_stretches_the_result(stretching):
    model = graph("(float[4] x) => (float[3,4] y) { m = Mul (x, kept) y = Add (m, low) }", STRETCHED[stretching])
    assert applied(restore_select, model, {"x": random(4)}) == ["Where"]


NO_CHOICES = {
    "something is added to what is kept": ({"low": FOLDED["low"] + 1}, ""),
    "a factor is no choice": ({"kept": FOLDED["kept"] * 2}, ""),
    "everything is kept": ({"kept": np.ones((2, 3, 3), np.float32), "low": np.zeros(1, np.float32)}, ""),
    "others read the product": ({}, "z = Relu (m)"),
}


@pytest.mark.parametrize("case", NO_CHOICES)
def test_rule_4_leaves_a_sum_where(case):
    weights, more = NO_CHOICES[case]
    signature = SCORES.replace("y)", "y, float[2,3,3] z)") if more else SCORES
    assert kept(restore_select, graph(f"{signature} {{ m = Mul (x, kept) y = Add (m, low) {more} }}", FOLDED | weights))


def test_rule_4_keeps_the_sign_of_zeros():
    shift = np.array([[0.0, -0.0, 0.0], [0.0, 0.0, 0.0]], np.float32)
    chosen = np.array([[1, 0, 0], [1, 0, 0]], np.float32)
    body = "k = Mul (a, chosen)  y = Add (k, shift)"
    model = graph(f"(float[2,3] a) => (float[2,3] y) {{ {body} }}", {"chosen": chosen, "shift": shift})
    assert restore_select(model)
    (answer,) = ReferenceEvaluator(to_proto(model)).run(None, {"a": np.full((2, 3), -1, np.float32)})
    np.testing.assert_array_equal(np.signbit(answer), np.signbit(np.where(chosen == 1, np.float32(-1), shift)))
