"""Transformer blocks of Keras' own layers, as a user writes them; imports Keras, so only builders import it.

BERT, ViT and GPT-2 share the block; they differ in where they normalise, in the mask, and in the form of GELU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import keras
from keras import layers

ops: Any = keras.ops

exact_gelu: Callable[[Any], Any] = partial(keras.activations.gelu, approximate=False)
tanh_gelu: Callable[[Any], Any] = partial(keras.activations.gelu, approximate=True)


@dataclass(frozen=True)
class Block:
    """What the blocks of one network have in common.

    Attributes:
        width: Of the hidden states.
        heads: Of the attention; they share the width.
        epsilon: Of the normalisations.
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
