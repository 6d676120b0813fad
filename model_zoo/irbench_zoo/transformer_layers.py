"""Layers of Transformers; imports Keras, so only builders import it.

BERT, ViT and GPT-2 share a block of Keras' own layers; they differ in where they normalise, in the mask, and in the
form of GELU. The Transformer's own encoder is built of matrix products: Keras' ``MultiHeadAttention`` is made of
``Einsum``, which ONNX runtimes run up to twice slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
import numpy as np
from keras import layers

ops: Any = keras.ops

exact_gelu: Callable[[Any], Any] = partial(keras.activations.gelu, approximate=False)
tanh_gelu: Callable[[Any], Any] = partial(keras.activations.gelu, approximate=True)


@dataclass(frozen=True)
class Block:
    """What the blocks of one network have in common.

    Attributes:
        heads: Of the attention; they share the width.
        activation: Of the hidden layer, which is four times as wide.
        normalise_first: Whether a normalisation stands before each part (Xiong et al., ICML 2020) or after its sum.
        attention: Arguments for the call of ``keras.layers.MultiHeadAttention``: its mask.
    """

    width: int
    heads: int
    epsilon: float
    activation: Callable[[Any], Any]
    normalise_first: bool
    attention: Mapping[str, Any] = field(default_factory=dict[str, Any])


def stack(x: Any, block: Block, depth: int) -> Any:
    """Return float32 of the shape of ``x``, ``(batch, sequence, width)``, after ``depth`` blocks."""
    for position in range(depth):
        name = f"block{position + 1}"
        attention = layers.MultiHeadAttention(block.heads, block.width // block.heads, name=f"{name}_attention")
        x = _residual(x, block, partial(_attend, attention, block), f"{name}_attention")
        x = _residual(x, block, partial(_feed_forward, block, name), f"{name}_feed_forward")
    return x


def _residual(x: Any, block: Block, part: Callable[[Any], Any], name: str) -> Any:
    normalise = layers.LayerNormalization(epsilon=block.epsilon, name=f"{name}_norm")
    if block.normalise_first:
        return layers.add([x, part(normalise(x))], name=f"{name}_add")
    return normalise(layers.add([x, part(x)], name=f"{name}_add"))


def _attend(attention: Any, block: Block, x: Any) -> Any:
    return attention(x, x, **block.attention)


def _feed_forward(block: Block, name: str, x: Any) -> Any:
    hidden = layers.Dense(4 * block.width, activation=block.activation, name=f"{name}_expand")(x)
    return layers.Dense(block.width, name=f"{name}_contract")(hidden)


class Positions(layers.Layer):  # type: ignore[misc]  # Keras ships no types
    """Adds a learned vector to each of at most ``count`` positions."""

    def __init__(self, count: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.count = count

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Make the table for the width, the last axis of ``input_shape``."""
        self.positions = self.add_weight(shape=(self.count, input_shape[-1]), name="positions")

    def call(self, x: Any) -> Any:
        """Return float32 of the shape of ``x``, ``(batch, sequence, width)``."""
        return x + ops.take(self.positions, ops.arange(ops.shape(x)[1]), axis=0)


class ClassToken(layers.Layer):  # type: ignore[misc]  # Keras ships no types
    """Puts a learned vector before the sequence (Dosovitskiy et al. 2021, section 3.1)."""

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Make the vector for the width, the last axis of ``input_shape``."""
        self.token = self.add_weight(shape=(1, 1, input_shape[-1]), name="token")

    def call(self, x: Any) -> Any:
        """Return float32 of shape ``(batch, 1 + sequence, width)`` for ``x`` of shape ``(batch, sequence, width)``."""
        first = ops.broadcast_to(self.token, (ops.shape(x)[0], 1, self.token.shape[-1]))
        return ops.concatenate([first, x], axis=1)


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
