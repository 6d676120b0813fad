from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irbench.core.output_check import TOLERANCES, compare, fingerprint, input_scale, judge, tolerance

SCORES = np.array([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]], np.float32)


def test_equal_outputs_have_no_error():
    error = compare([SCORES], [SCORES.copy()], class_axes=(-1,), scale=1.0)
    assert (error.max_abs, error.max_rel, error.cosine, error.top1_agreement) == (0.0, 0.0, pytest.approx(1.0), 1.0)


def test_the_relative_error_is_the_largest_difference_over_the_largest_reference_value():
    error = compare([np.array([1.0, 2.5, -4.0])], [np.array([1.0, 2.0, -4.0])], class_axes=(), scale=1.0)
    assert (error.max_abs, error.max_rel, error.top1_agreement) == (0.5, 0.125, None)
    assert error.cosine == pytest.approx(22 / np.sqrt(23.25 * 21))


def test_the_worst_output_decides():
    fine, off = np.ones(3), np.ones(3) * 2
    error = compare([fine, off, fine], [fine, fine, fine], class_axes=(), scale=1.0)
    assert (error.max_abs, error.max_rel) == (1.0, 1.0)


def test_top1_agreement_is_the_share_of_positions_with_the_same_best_class():
    swapped = SCORES[:, [1, 0, 2]]
    half = np.stack([SCORES[0], swapped[1]])
    assert compare([half], [SCORES], class_axes=(-1,), scale=1.0).top1_agreement == 0.5
    tokens = np.stack([SCORES, SCORES])
    assert compare([tokens], [tokens], class_axes=(-1,), scale=1.0).top1_agreement == 1.0


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinities")])
def test_a_value_that_is_no_number_where_the_reference_is_one_cannot_be_compared(bad, word):
    broken = SCORES.copy()
    broken[0, 0] = bad
    with pytest.raises(ValueError, match=f"output 0 holds {word} at 1 of 6 places"):
        compare([broken], [SCORES], class_axes=(), scale=1.0)


def test_a_number_where_the_reference_has_none_cannot_be_compared_either():
    broken = SCORES.copy()
    broken[1, 1] = np.inf
    with pytest.raises(ValueError, match="finite values where the reference has none"):
        compare([SCORES], [broken], class_axes=(), scale=1.0)


def test_the_same_infinity_in_both_is_agreement():
    masked = np.array([1.0, -np.inf, np.nan, 2.0])
    error = compare([masked + 0.0], [masked], class_axes=(), scale=1.0)
    assert (error.max_abs, error.cosine) == (0.0, pytest.approx(1.0))


def test_the_opposite_infinity_is_not():
    with pytest.raises(ValueError, match="infinities"):
        compare([np.array([np.inf])], [np.array([-np.inf])], class_axes=(), scale=1.0)


def test_other_shapes_and_numbers_of_outputs_are_told_in_words():
    with pytest.raises(ValueError, match="output 0 has shape 3, the reference 2x3"):
        compare([SCORES[0]], [SCORES], class_axes=(), scale=1.0)
    with pytest.raises(ValueError, match="gave 2 outputs, the reference has 1"):
        compare([SCORES, SCORES], [SCORES], class_axes=(), scale=1.0)


def test_a_reference_of_zeros_allows_the_rounding_errors_of_values_about_one():
    zeros = np.zeros(4, np.float32)
    assert compare([zeros], [zeros], class_axes=(), scale=1.0).cosine == 1.0
    error = compare([zeros + np.float32(1e-7)], [zeros], class_axes=(), scale=1.0)
    assert (error.max_rel, error.cosine) == (pytest.approx(1e-4), 0.0)
    assert judge(error, "fp32") is None
    assert judge(compare([zeros + np.float32(1e-5)], [zeros], class_axes=(), scale=1.0), "fp32") is not None


TINY = np.float32(1e-5) * np.array([0.2, 1.0, 0.7, 0.0], np.float32)
"""As a detector answers that finds nothing."""


def test_tiny_outputs_may_differ_by_the_rounding_errors_of_values_about_one():
    assert judge(compare([TINY + np.float32(2e-7)], [TINY], class_axes=(), scale=1.0), "fp32") is None


@pytest.mark.parametrize(
    "wrong",
    [TINY * 0, TINY * 2, -TINY, TINY[::-1], np.roll(TINY, 1), TINY + 5e-6, np.full_like(TINY, TINY.mean())],
    ids=["zeros", "doubled", "negated", "reversed", "shifted", "raised", "averaged"],
)
def test_wrong_answers_of_the_size_of_a_tiny_reference_do_not_pass(wrong):
    assert judge(compare([wrong], [TINY], class_axes=(), scale=1.0), "fp32") is not None


def test_a_model_whose_inputs_are_small_may_have_small_outputs():
    inputs = [np.array([1e-9, 3e-9], np.float32)]
    reference = inputs[0] * 0.01
    error = compare([reference * np.float32(1.1)], [reference], (), input_scale(inputs))
    assert error.max_rel == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize(
    ("inputs", "scale"),
    [
        ([], 1.0),
        ([np.array([5, 9])], 1.0),
        ([np.zeros(3)], 1.0),
        ([np.empty((0, 3))], 1.0),
        ([np.array([0.0, -0.25])], 0.25),
        ([np.array([0.5]), np.array([-1e9, -np.inf, np.nan])], 1.0),
        ([np.array([200.0])], 1.0),
    ],
)
def test_the_scale_is_the_largest_float_input_and_at_most_one(inputs, scale):
    assert input_scale(inputs) == scale


def test_a_mask_of_huge_inputs_lets_no_wrong_answer_through():
    scale = input_scale([np.array([0.5], np.float32), np.array([0.0, -3.4e38], np.float32)])
    assert judge(compare([SCORES * np.float32(1.1)], [SCORES], (), scale), "fp32") is not None


def test_each_of_several_outputs_is_judged_by_its_own_size():
    large, small = np.array([1000.0, 2000.0]), np.array([0.1, 0.2])
    error = compare([large, small * 1.5], [large, small], class_axes=(), scale=1.0)
    assert error.max_rel == pytest.approx(0.5)
    assert judge(error, "fp32") is not None


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_integers_of_four_bits_must_be_equal(dtype):
    reference, other = np.array([0, 1, 7, 3]).astype(dtype), np.array([0, 1, 6, 3]).astype(dtype)
    assert judge(compare([reference], [reference], class_axes=(), scale=1.0), "fp32") is None
    assert judge(compare([other], [reference], class_axes=(), scale=1.0), "int8") is not None


@pytest.mark.parametrize(
    ("relative", "effective", "graph", "passes"),
    [(7e-3, "fp32", "int8", True), (0.3, "fp32", "int8", False), (7e-3, "fp32", "fp32", False),
     (7e-3, "fp32", "", False), (0.05, "bf16", "fp32", True), (0.05, "fp64", "fp16", False)],
)  # fmt: skip
def test_the_looser_of_the_effective_precision_and_that_of_the_graph_decides(relative, effective, graph, passes):
    assert (judge(off_by(relative), effective, graph) is None) == passes


def test_a_failure_names_the_precision_whose_tolerance_was_exceeded():
    assert judge(off_by(0.5), "fp32", "int8").message.endswith("above 0.2, the tolerance of int8")


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_])
def test_integers_must_be_equal(dtype):
    reference = np.array([0, 1, 1, 0, 1], dtype)
    other = np.array([0, 1, 0, 0, 1], dtype)
    assert judge(compare([reference], [reference], class_axes=(), scale=1.0), "fp32") is None
    error = compare([other], [reference], class_axes=(), scale=1.0)
    assert error.max_rel >= 1
    assert all(judge(error, precision) is not None for precision in TOLERANCES)


def test_one_wrong_label_among_large_ones_is_not_lost():
    reference = np.array([5, 1_000_000])
    error = compare([reference + np.array([1, 0])], [reference], class_axes=(), scale=1.0)
    assert (error.max_abs, error.max_rel) == (1.0, 1.0)


def test_strings_must_be_equal():
    words = np.array(["cat", "dog"], object)
    assert judge(compare([words], [words.copy()], class_axes=(), scale=1.0), "fp32") is None
    assert judge(compare([words[::-1]], [words], class_axes=(), scale=1.0), "bf16") is not None


def test_bfloat16_outputs_are_compared_in_full_width():
    error = compare([SCORES.astype(ml_dtypes.bfloat16)], [SCORES], class_axes=(-1,), scale=1.0)
    assert 0 < error.max_rel < 2**-8
    assert judge(error, "bf16") is None
    assert judge(error, "fp32") is not None


def test_half_precision_differences_do_not_overflow():
    large = np.array([60000.0, -60000.0], np.float16)
    assert compare([-large], [large], class_axes=(), scale=1.0).max_abs == 120000.0


def test_the_cosine_of_tiny_and_huge_vectors_is_not_lost():
    for scale in (1e-200, 1e200):
        assert compare([SCORES * np.float64(scale)], [SCORES * np.float64(scale)], (), 1.0).cosine == pytest.approx(1.0)


def test_complex_outputs_differ_by_their_modulus():
    assert compare([np.array([3 + 4j])], [np.array([0 + 0j])], class_axes=(), scale=1.0).max_abs == 5.0


def test_an_empty_output_agrees_with_an_empty_one():
    empty = np.empty((0, 4), np.float32)
    assert compare([empty], [empty], class_axes=(-1,), scale=1.0).max_rel == 0.0


def test_a_scalar_output_can_be_compared():
    assert compare([np.float32(2.0)], [np.float32(4.0)], class_axes=(-1,), scale=1.0).max_rel == 0.5


def off_by(relative):
    reference = np.ones(8)
    return compare([reference * (1 + relative)], [reference], class_axes=(), scale=1.0)


@pytest.mark.parametrize(
    ("relative", "precision", "passes"),
    [(1e-4, "fp32", True), (2e-3, "fp32", False), (5e-3, "tf32", True), (5e-3, "fp16", True), (0.05, "bf16", True),
     (0.05, "fp16", False), (0.2, "bf16", False), (1e-4, "fp64", False)],
)  # fmt: skip
def test_the_tolerance_is_that_of_the_effective_precision(relative, precision, passes):
    assert (judge(off_by(relative), precision) is None) == passes


def test_an_unknown_precision_is_held_to_single_precision():
    assert tolerance("posit16") == tolerance("fp32")


def test_a_failure_names_the_least_tolerance_that_would_pass():
    failure = judge(off_by(0.00123), "fp32")
    assert failure.stage == "verify"
    assert failure.message == "wrong outputs: max_rel 0.0012 is above 0.001, the tolerance of fp32"
    assert "A tolerance of 0.0013 would pass" in failure.hint


def test_eight_bit_floats_get_no_less_room_than_eight_bit_integers():
    assert tolerance("fp8") >= tolerance("int8") > tolerance("bf16")
    assert tolerance("fp8") < 1.0


@pytest.mark.parametrize(("dtype", "other"), [("int64", "int64"), ("uint64", "uint64"), ("int64", "uint64")])
def test_integers_that_float64_cannot_tell_apart_are_different(dtype: str, other: str) -> None:
    reference = np.array([2**60, 7], other)
    off = np.array([2**60 + 1, 7], dtype)
    error = compare([off], [reference], class_axes=(), scale=1.0)
    assert (error.max_abs, error.max_rel) == (1.0, 1.0)
    assert compare([reference.astype(dtype)], [reference], class_axes=(), scale=1.0).max_rel == 0.0


@pytest.mark.parametrize(
    "others",
    [
        [np.zeros(3, np.float32)],
        [np.array([1, 2, np.nan], np.float32)],
        [np.array([1, 2, 3], np.float64)],
        [np.array([[1, 2, 3]], np.float32)],
        [np.array([1, 2, 3], np.float32), np.array(["b"], object)],
        [np.array([1, 2, 3], np.float32), [np.zeros(1)]],
        [],
    ],
    ids=["values", "NaN", "type", "shape", "text", "list", "nothing"],
)
def test_outputs_that_differ_in_any_bit_have_another_fingerprint(others: list[Any]) -> None:
    outputs = [np.array([1, 2, 3], np.float32)]
    assert fingerprint(outputs) == fingerprint([outputs[0].copy()])
    assert fingerprint(outputs) != fingerprint(others)
    assert fingerprint(outputs, 1) != fingerprint(outputs)


def test_texts_and_lists_have_a_fingerprint_of_their_values() -> None:
    texts = [np.array(["a", "b"], object), [np.zeros(2), np.ones(1)]]
    assert fingerprint(texts) == fingerprint([np.array(["a", "b"], object), [np.zeros(2), np.ones(1)]])
    assert fingerprint(texts) != fingerprint([np.array(["a", "c"], object), [np.zeros(2), np.ones(1)]])


def test_top1_agreement_is_of_the_outputs_with_scores_and_the_least_of_them() -> None:
    other = SCORES[:, ::-1].copy()
    pair = ([other, SCORES, other], [SCORES, SCORES, SCORES])
    assert compare(*pair, class_axes=(None, -1), scale=1.0).top1_agreement == 1
    assert compare(*pair, class_axes=(None, -1, -1), scale=1.0).top1_agreement == 0.5
    assert compare(*pair, class_axes=(), scale=1.0).top1_agreement is None


def test_the_class_of_a_position_is_the_largest_along_the_axis_of_classes() -> None:
    maps = np.zeros((1, 3, 2, 2), np.float32)
    maps[0, 0], maps[0, 1, 0, 0] = 1, 2
    other = maps.copy()
    other[0, 2, 1, 1] = 3
    assert compare([other], [maps], class_axes=(1,), scale=1.0).top1_agreement == 0.75
    assert compare([other], [maps], class_axes=(-1,), scale=1.0).top1_agreement != 0.75
