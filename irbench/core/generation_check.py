"""Compare generated tokens with a reference's: where both first chose otherwise, and how close that choice was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from irbench.core.output_check import compare
from irbench.core.record import OutputError
from irbench.spec.generation import GENERATED_OUTPUTS
from irbench.spi import Array

_WRONG = 1.0
"""The error of a token that is not among the reference's most likely ones."""


def compare_generations(answer: Sequence[Array], reference: Sequence[Array], scale: float) -> OutputError:
    """Return how far a generation is from the reference's, which chose greedily too.

    Up to the first token that differs, both were given the same: all logits of the first tokens are compared as any
    outputs are, and of every token the largest ones, of those tokens that are among the largest in both. From there on
    the texts differ, and nothing is compared. A choice that differs counts as an error of the logits: the distance in
    the reference between the token that it chose and the one that the answer chose, relative to the largest logit. Two
    tokens that tie within the tolerance may therefore be chosen either way; one that is not among the reference's
    largest is wrong.

    Args:
        answer: From :meth:`irbench.core.decode_loop.DecodeLoop.answers`, or its tokens alone: then its choices are
            compared, in the reference's logits.
        reference: The same of the reference, whole.
        scale: Size of the values that outputs are computed from: :func:`irbench.core.output_check.input_scale`.

    Returns:
        The error; its ``top1_agreement`` is the share of tokens before the first difference, 1 where there is none.

    Raises:
        ValueError: The answer is no generation, or they are of different sizes.
    """
    if len(answer) not in (1, len(GENERATED_OUTPUTS)):
        raise ValueError(f"gave {len(answer)} outputs in place of {', '.join(GENERATED_OUTPUTS)}")
    if np.shape(answer[0]) != np.shape(reference[0]):
        raise ValueError(f"generated tokens of shape {np.shape(answer[0])}, the reference {np.shape(reference[0])}")
    samples = range(len(answer[0]))
    errors = [_compare_one([part[i] for part in answer], [part[i] for part in reference], scale) for i in samples]
    return OutputError(
        max_abs=max(error.max_abs for error in errors),
        max_rel=max(error.max_rel for error in errors),
        cosine=min(error.cosine for error in errors),
        top1_agreement=float(np.mean([error.top1_agreement or 0.0 for error in errors])),
    )


def _compare_one(answer: Sequence[Array], reference: Sequence[Array], scale: float) -> OutputError:
    """Compare one sample: tokens, the largest logits of each, their tokens, and all logits of the first ones."""
    tokens, expected_top, expected_tokens = answer[0], *reference[1:3]
    differing = np.flatnonzero(tokens != reference[0])
    same = int(differing[0]) if differing.size else tokens.size
    error, distances = OutputError(0.0, 0.0, 1.0, None), [_Distance(0.0, 0.0)]
    if len(answer) > 1:
        compared = slice(0, same + 1)  # the logits that the first differing token was chosen from have the same past
        before, expected = ([part[compared] for part in of] for of in (answer, reference))
        error = compare(before[-1:], expected[-1:], class_axes=(), scale=scale)
        distances = [_distance(*pair) for pair in zip(*before[1:3], *expected[1:3], strict=True)]
    if differing.size:
        distances.append(_distance_of_choice(int(tokens[same]), expected_top[same], expected_tokens[same]))
    return replace(
        error,
        max_abs=max(error.max_abs, *(distance.absolute for distance in distances)),
        max_rel=max(error.max_rel, *(distance.relative for distance in distances)),
        top1_agreement=same / tokens.size,
    )


@dataclass(frozen=True)
class _Distance:
    absolute: float
    relative: float


def _distance(top: Array, tokens: Array, expected_top: Array, expected_tokens: Array) -> _Distance:
    """Return how far the logits of those tokens are apart that are among the largest in both."""
    _, ours, theirs = np.intersect1d(tokens, expected_tokens, assume_unique=True, return_indices=True)
    pairs = np.stack([top[ours], expected_top[theirs]]).astype(np.float64)
    finite = pairs[:, np.isfinite(pairs).all(axis=0)]
    farthest = float(np.abs(finite[0] - finite[1]).max(initial=0.0))
    return _Distance(farthest, farthest / _largest(expected_top))


def _distance_of_choice(token: int, top: Array, tokens: Array) -> _Distance:
    """Return how much less likely than its own choice the reference finds a token."""
    places = np.flatnonzero(tokens == token)
    if not places.size or not np.isfinite(top[places[0]]):
        return _Distance(float(top[0]), _WRONG)
    gap = float(top[0] - top[places[0]])
    return _Distance(gap, gap / _largest(top))


def _largest(logits: Array) -> float:
    return float(np.abs(logits[np.isfinite(logits)]).max(initial=0.0)) or 1.0
