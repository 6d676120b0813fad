"""Layers of the Transformer encoder, built of matrix products; imports Keras, so only builders import it.

Keras' own ``MultiHeadAttention`` is made of ``Einsum``, which ONNX runtimes run up to twice slower.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import layers

ops: Any = keras.ops


class PositionalEncoding(layers.Layer):  # type: ignore[misc]  # Keras ships no types
    """Adds the sinusoids of Vaswani et al. 2017, section 3.5.

    They are computed from the length, so any length will do; a runtime that is given a fixed length folds them.
    """

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Compute the frequencies for the width, the last axis of ``input_shape``."""
        width = input_shape[-1]
        assert width is not None
        exponents = np.arange(0, width, 2, dtype=np.float64) / width
        self.frequencies = np.power(10_000.0, -exponents).astype(np.float32)

    def call(self, x: Any) -> Any:
        """Return float32 ``x`` of shape ``(batch, sequence, width)`` plus the encoding of each position."""
        positions = ops.cast(ops.arange(ops.shape(x)[1]), "float32")
        angles = ops.expand_dims(positions, 1) * self.frequencies
        return x + ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)


class SelfAttention(layers.Layer):  # type: ignore[misc]  # Keras ships no types
    """Multi-head attention of a sequence to itself (Vaswani et al. 2017, section 3.2), without a mask."""

    def __init__(self, width: int, heads: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width = width
        self.heads = heads
        self.query = layers.Dense(width, name="query")
        self.key = layers.Dense(width, name="key")
        self.value = layers.Dense(width, name="value")
        self.projection = layers.Dense(width, name="projection")

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Build the four projections for ``input_shape``, ``(batch, sequence, width)``."""
        for dense in (self.query, self.key, self.value, self.projection):
            dense.build(input_shape)

    def call(self, x: Any) -> Any:
        """Return float32 of the shape of ``x``, ``(batch, sequence, width)``."""
        scale = 1.0 / math.sqrt(self.width // self.heads)
        query, key, value = (self._split(dense(x)) for dense in (self.query, self.key, self.value))
        scores = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2)))
        mixed = ops.matmul(keras.activations.softmax(scores), value)
        merged = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, ops.shape(x)[1], self.width))
        return self.projection(merged)

    def _split(self, x: Any) -> Any:
        heads = ops.reshape(x, (-1, ops.shape(x)[1], self.heads, self.width // self.heads))
        return ops.transpose(heads, (0, 2, 1, 3))
