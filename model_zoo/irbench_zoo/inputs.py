"""Logical inputs of zoo models, without a framework."""

from __future__ import annotations

from irbench.spec import BATCH, InputSpec, TensorSpec

IMAGE = "image"
TOKENS = "tokens"


def image(size: int, low: float, high: float, channels: int = 3) -> tuple[InputSpec, ...]:
    """Return one float32 input of shape ``(batch, size, size, channels)`` with values in ``[low, high)``."""
    return (InputSpec(TensorSpec(IMAGE, "float32", (BATCH, size, size, channels)), low, high),)


def tokens(length: int | str, vocabulary: int) -> tuple[InputSpec, ...]:
    """Return one int32 input of shape ``(batch, length)`` with values in ``[0, vocabulary)``."""
    return (InputSpec(TensorSpec(TOKENS, "int32", (BATCH, length)), 0, vocabulary),)
