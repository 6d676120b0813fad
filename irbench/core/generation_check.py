"""Compare generated tokens with a reference's: where both first chose otherwise, and how close that choice was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irbench.core.output_check import compare
from irbench.core.record import OutputError
from irbench.spec.generation import GENERATED_OUTPUTS
from irbench.spi import Array


def compare_generations(answer: Sequence[Array], reference: Sequence[Array], scale: float) -> OutputError:
    """Return how far a generation is from the reference's, which chose greedily too.

    Up to the first token that differs, both were given the same, and logits are compared as any outputs are. From
    there on the texts differ, and nothing is compared. A choice that differs counts as an error of the logits: the
    distance in the reference between the token that it chose and the one that the answer chose, relative to the
    largest logit. Two tokens that tie within the tolerance may therefore be chosen either way.

    Args:
        answer: From :meth:`irbench.core.decode_loop.DecodeLoop.answers`.
        reference: The same of the reference.
        scale: Size of the values that outputs are computed from: :func:`irbench.core.output_check.input_scale`.

    Returns:
        The error; its ``top1_agreement`` is the share of tokens before the first difference, 1 where there is none.

    Raises:
        ValueError: One of them is no generation, or they are of different sizes.
    """
    for outputs in (answer, reference):
        if len(outputs) != len(GENERATED_OUTPUTS):
            raise ValueError(f"gave {len(outputs)} outputs in place of {', '.join(GENERATED_OUTPUTS)}")
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
    tokens, _, _, logits = answer
    expected, top, top_tokens, expected_logits = reference
    differing = np.flatnonzero(tokens != expected)
    same = int(differing[0]) if differing.size else tokens.size
    compared = slice(0, same + 1)  # the logits that the first differing token was chosen from have the same past
    error = compare([logits[compared]], [expected_logits[compared]], classifier=False, scale=scale)
    error = replace(error, top1_agreement=same / tokens.size)
    if not differing.size:
        return error
    gap = _distance(int(tokens[same]), top[same], top_tokens[same])
    largest = float(np.abs(top[same]).max()) or 1.0
    return replace(error, max_abs=max(error.max_abs, gap), max_rel=max(error.max_rel, gap / largest))


def _distance(token: int, top: Array, top_tokens: Array) -> float:
    """Return how much less likely a token is than the first one, at least, where it is not among the first ones."""
    places = np.flatnonzero(top_tokens == token)
    place = int(places[0]) if places.size else top.size - 1
    return float(top[0] - top[place])
