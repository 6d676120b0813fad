"""What a function of the user's generated: its tokens, refused where they are not what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irbench.errors import IrbenchError
from irbench.measure.call_parts import described
from irbench.spec import shape_text
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Array


def generated_tokens(outputs: Sequence[Any], prompt: Array, artifact: GenerationArtifact) -> Array:
    """Return the tokens that follow the prompt.

    Args:
        outputs: What a function returned: its only output, or a text for each sample. Integers of shape (batch, new
            tokens), or (batch, prompt + new tokens) where each text begins with its prompt.
        prompt: What it was given, int64 of shape (batch, prompt).
        artifact: How many tokens are generated, and of how many.

    Returns:
        int64 of shape (batch, new tokens).

    Raises:
        IrbenchError: There are fewer or more, they are no integers, a text does not begin with its prompt, or a token
            is not in the vocabulary.
    """
    texts = _texts(outputs)
    batch, read = prompt.shape
    short, long = (batch, artifact.new_tokens), (batch, read + artifact.new_tokens)
    if texts is None or texts.shape not in (short, long):
        raise IrbenchError(
            f"It returned {_described(outputs, texts)} in place of tokens: integers of shape {shape_text(short)}, or"
            f" {shape_text(long)} with the prompt before them.",
            hint="Generate as many tokens as `cell.new_tokens` says: no text ends early, for example at an end token,"
            " and none is padded.",
        )
    if texts.shape == long and not np.array_equal(texts[:, :read], prompt):
        raise IrbenchError(
            f"It returned texts of {long[1]} tokens that do not begin with the prompt of {read}.",
            hint="Return the new tokens alone, or each prompt with its new tokens behind it.",
        )
    tokens = texts[:, -artifact.new_tokens :].astype(np.int64)
    _refuse_unknown(tokens, artifact.outputs[-1].shape[-1])
    return tokens


def _texts(outputs: Sequence[Any]) -> Array | None:
    """Return integers of shape (batch, tokens); ``None`` of anything else."""
    try:
        arrays = [np.asarray(output) for output in outputs]
        texts = np.atleast_2d(arrays[0] if len(arrays) == 1 else np.stack(arrays))
    except ValueError:  # texts of several lengths, or none
        return None
    return texts if texts.dtype.kind in "iu" else None


def _described(outputs: Sequence[Any], texts: Array | None) -> str:
    if texts is not None:
        return described(texts)
    if not outputs:
        return "nothing"
    return described(np.asarray(outputs[0]) if len(outputs) == 1 else outputs)


def _refuse_unknown(tokens: Array, vocabulary: int | str) -> None:
    if not isinstance(vocabulary, int):
        return
    unknown = tokens[(tokens < 0) | (tokens >= vocabulary)]
    if unknown.size:
        raise IrbenchError(
            f"It returned the token {int(unknown[0])}, and the decoder knows {vocabulary}: 0 to {vocabulary - 1}.",
            hint="Return ids of the decoder's own vocabulary, as the prompt has them.",
        )
