"""A check asks at least three inputs at each step, and none of which the original's answer says nothing."""

import numpy as np
import pytest

from irbench.core.feeds import write_sample
from irbench.optimizer.check_plan import Question, plan_check
from irbench.spec import Feeding, InputSpec, TensorSpec

X = InputSpec(TensorSpec("x", "float32", ("batch", "length", 4)), -1.0, 1.0)
MASK = InputSpec(TensorSpec("mask", "int64", ("batch", "length")), 0, 2, is_mask=True)
SIZES = {"batch": 2, "length": 8}
DYNAMIC = ("batch", "length")


def planned(answer, *specs, dynamic=DYNAMIC, precision="fp32"):
    return plan_check(Question(specs, SIZES, dynamic, Feeding(), precision), answer)


def doubled(arrays):
    return [2 * arrays[0]]


def kinds(answers):
    return [expected.case.kind for expected in answers]


def test_each_step_is_asked_the_plain_input_and_two_edges_one_of_them_at_other_sizes():
    plan = planned(doubled, X)
    assert kinds(plan.each_step) == ["seeded", "constant-rows", "large"]
    assert plan.each_step[0].case.sizes == SIZES
    assert all(plan.each_step[1].case.sizes[name] != SIZES[name] for name in DYNAMIC)
    assert plan.each_step[2].case.sizes["batch"] == 1


def test_the_end_is_asked_the_other_edges_other_sizes_and_all_sizes_at_one():
    plan = planned(doubled, X)
    assert kinds(plan.at_the_end) == ["zeros", "seeded", "seeded"]
    assert plan.at_the_end[-1].case.sizes == {"batch": 1, "length": 1}
    assert plan.unvaried == ()


def test_masks_are_asked_first():
    plan = planned(doubled, X, MASK)
    assert kinds(plan.each_step)[1] == "mask-half"
    assert {*kinds(plan.each_step), *kinds(plan.at_the_end)} >= {"mask-none", "mask-ones"}


def test_what_is_expected_is_what_the_original_answered():
    plan = planned(doubled, X)
    question = Question((X,), SIZES, DYNAMIC, Feeding(), "fp32")
    for expected in (*plan.each_step, *plan.at_the_end):
        assert np.array_equal(expected.outputs[0], 2 * question.arrays(expected.case)[0])


def test_fixed_shapes_are_asked_three_inputs_too():
    plan = planned(lambda arrays: [np.zeros(1, np.int64)], InputSpec(TensorSpec("w", "string", (2,))), dynamic=())
    assert kinds(plan.each_step) == ["seeded"] * 3
    assert len({expected.case.seed for expected in plan.each_step}) == 3


def failing_on_zeros(arrays):
    if not arrays[0].any():
        raise RuntimeError("division by zero")
    return doubled(arrays)


def infinite_on_zeros(arrays):
    with np.errstate(all="ignore"):
        return [1 / np.abs(arrays[0]).max(keepdims=True)]


def normalised(arrays):
    centred = arrays[0] - arrays[0].mean(-1, keepdims=True)
    return [centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-30)]


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (failing_on_zeros, "zeros", "fails"),
        (infinite_on_zeros, "zeros", "not-finite"),
        (normalised, "constant-rows", "unstable"),
    ],
)
def test_an_edge_of_which_the_answer_says_nothing_is_left_out_with_the_reason(answer, kind, reason):
    plan = planned(answer, X)
    assert plan.left_out[kind] == reason
    assert kind not in kinds((*plan.each_step, *plan.at_the_end))
    assert len(plan.each_step) == 3


def test_no_more_edges_are_asked_than_there_is_memory_for():
    question = Question((X,), SIZES, DYNAMIC, Feeding(), "fp32", room_bytes=1)
    plan = plan_check(question, doubled)
    assert set(plan.left_out.values()) == {"too-large"}
    assert len(plan.each_step) == 3


def test_a_stable_answer_at_an_edge_is_kept():
    assert planned(normalised, X).left_out.keys() == {"constant-rows"}


def at_length_8(arrays):
    if arrays[0].shape[1] != 8:
        raise RuntimeError("length must be 8")
    return doubled(arrays)


def test_a_dimension_that_cannot_change_stays_and_is_named_and_the_others_change():
    plan = planned(at_length_8, X)
    assert plan.unvaried == ("length",)
    assert {expected.case.sizes["batch"] for expected in plan.each_step} == {1, 2, 3}


def test_an_original_that_fails_on_the_plain_input_is_told():
    def fail(_):
        raise RuntimeError("no kernel")

    with pytest.raises(RuntimeError, match="no kernel"):
        planned(fail, X)


def given_at(places, answer=doubled, room_bytes=None, folder=None):
    samples = []
    for place in range(places):
        path = folder / f"{place}.npz"
        write_sample(path, [X], {"x": np.full((2, 8, 4), place + 1, np.float32)})
        samples.append(path)
    question = Question(
        (X,), SIZES, DYNAMIC, Feeding(samples=tuple(samples)), "fp32", *([room_bytes] if room_bytes else [])
    )
    return plan_check(question, answer)


@pytest.mark.parametrize(("count", "asked"), [(1, [0]), (3, [0, 1, 2]), (33, [0, 4, 8, 12, 16, 20, 24, 28, 32])])
def test_samples_that_were_given_are_spread_over_all_of_them_and_the_first_is_asked_at_each_step(
    tmp_path, count, asked
):
    plan = given_at(count, folder=tmp_path)
    given = [expected for expected in (*plan.each_step, *plan.at_the_end) if expected.case.kind == "given"]
    assert [expected.case.sample for expected in given] == asked
    assert [expected.outputs[0].max() for expected in given] == [2.0 * (place + 1) for place in asked]
    assert kinds(plan.each_step)[0] == "given"
    assert "given" not in kinds(plan.each_step)[1:]


def test_no_more_samples_are_asked_than_there_is_memory_for(tmp_path):
    assert "given" not in kinds(given_at(33, room_bytes=1, folder=tmp_path).at_the_end)
