"""Generated tokens compared with a reference's."""

from __future__ import annotations

import numpy as np
import pytest

from irbench.core.generation_check import compare_generations
from irbench.core.output_check import judge
from irbench.spi import Array

VOCABULARY = 6


def answer(*rows: list[float]) -> tuple[Array, ...]:
    """Return a generation of one sample that chose greedily from these logits."""
    logits = np.array([rows], np.float32)
    top = np.argsort(-logits, axis=-1, kind="stable")[..., :4]
    return logits.argmax(-1), np.take_along_axis(logits, top, -1), top, logits


FIRST, SECOND = [0.0, 9, 1, 2, 3, 4], [8.0, 1, 2, 3, 4, 5]


def test_equal_generations_have_no_error() -> None:
    error = compare_generations(answer(FIRST, SECOND), answer(FIRST, SECOND), 1.0)
    assert (error.max_rel, error.top1_agreement) == (0, 1)


def test_a_tie_may_be_chosen_either_way() -> None:
    one, other = [8.0, 7.9999, 2, 3, 4, 5], [7.9999, 8.0, 2, 3, 4, 5]
    error = compare_generations(answer(FIRST, one, SECOND), answer(FIRST, other, FIRST), 1.0)
    assert error.top1_agreement == pytest.approx(1 / 3)
    assert judge(error, "fp32") is None, "what follows the tie has another past and is not compared"


def test_a_token_that_the_reference_finds_unlikely_is_wrong() -> None:
    error = compare_generations(answer(FIRST, FIRST), answer(FIRST, SECOND), 1.0)
    assert error.max_rel >= (8 - 1) / 8
    assert judge(error, "fp32") is not None


def beyond_the_first(reference: tuple[Array, ...], first: int = 8) -> tuple[Array, ...]:
    """Return a generation with all logits of its first tokens alone."""
    return (*reference[:3], reference[3][:, :first])


def test_a_late_token_that_is_not_among_the_most_likely_is_wrong() -> None:
    right = beyond_the_first(answer(*[FIRST] * 12))
    tokens = right[0].copy()
    tokens[0, 11] = 0  # the least likely one, which the four largest logits leave out
    error = compare_generations((tokens, *right[1:]), right, 1.0)
    assert error.max_rel == 1
    assert error.top1_agreement == pytest.approx(11 / 12)


def test_logits_of_late_tokens_are_compared_where_the_choice_is_the_same() -> None:
    other = [0.0, 9, 1, 2, 3, 8.5]
    right, near = (beyond_the_first(answer(*[FIRST] * 11, last)) for last in (FIRST, other))
    error = compare_generations(near, right, 1.0)
    assert error.max_rel == pytest.approx(4.5 / 9)
    assert error.top1_agreement == 1


def test_tokens_that_are_ruled_out_do_not_hide_what_is_wrong() -> None:
    ruled_out = [float("-inf"), 9, float("-inf"), 2, 3, 4]
    right = answer(FIRST, ruled_out)
    assert compare_generations(right, right, 1.0).max_rel == 0
    tokens = right[0].copy()
    tokens[0, 1] = 2
    assert compare_generations((tokens, *right[1:]), right, 1.0).max_rel == 1


def test_the_worst_sample_counts() -> None:
    both = [np.concatenate(parts) for parts in zip(answer(FIRST), answer(SECOND), strict=True)]
    wrong = [np.concatenate(parts) for parts in zip(answer(FIRST), answer(FIRST), strict=True)]
    error = compare_generations(wrong, both, 1.0)
    assert error.max_rel > 0.5
    assert error.top1_agreement == 0.5


def test_other_outputs_than_those_of_generations_are_refused() -> None:
    with pytest.raises(ValueError, match="gave 2 outputs in place of tokens"):
        compare_generations(answer(FIRST)[:2], answer(FIRST), 1.0)
    with pytest.raises(ValueError, match="shape"):
        compare_generations(answer(FIRST, FIRST), answer(FIRST), 1.0)


def test_of_tokens_alone_the_first_other_choice_counts_in_the_logits_of_the_reference() -> None:
    right = answer(FIRST, SECOND)
    same = compare_generations(right[:1], right, 1.0)
    assert (same.max_abs, same.max_rel, same.top1_agreement) == (0, 0, 1)
    near = compare_generations(answer(FIRST, [7.0, 8, 2, 3, 4, 5])[:1], answer(FIRST, [8.0, 7.9999, 2, 3, 4, 5]), 1.0)
    assert near.max_abs == pytest.approx(1e-4, rel=0.01)
    assert near.top1_agreement == 0.5
    assert judge(near, "None") is None
    assert judge(compare_generations(answer(FIRST, FIRST)[:1], right, 1.0), "None") is not None
