"""A Transformer's encoder, its layers as weights by role, and the one order in which every form of it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import onnx_ir as ir

from benchmarks.by_hand.weights import Dense, Norm
from irbench.spi import Array

HEAD_WIDTH = 64
"""Of every head of the three models."""


@dataclass(frozen=True)
class Attention:
    """Multi-head self-attention (Vaswani et al., 2017, section 3.2).

    Attributes:
        query: Projection of the queries, as those of keys and values from width to width.
        key: Of the keys.
        value: Of the values.
        output: Of the joined heads.
    """

    query: Dense
    key: Dense
    value: Dense
    output: Dense

    @property
    def heads(self) -> int:
        """How many there are."""
        return self.query.bias.size // HEAD_WIDTH

    @property
    def packed(self) -> Dense:
        """The three projections as one, side by side."""
        parts = (self.query, self.key, self.value)
        return Dense(
            np.concatenate([part.kernel for part in parts], axis=1), np.concatenate([part.bias for part in parts])
        )


@dataclass(frozen=True)
class Block:
    """A layer of the encoder.

    Attributes:
        attention: Its attention.
        attended: What normalises the sum behind the attention.
        expand: To the hidden layer, which GELU follows.
        contract: Back to the width.
        fed: What normalises the sum behind that. Where normalisation comes first, that of the next layer.
    """

    attention: Attention
    attended: Norm
    expand: Dense
    contract: Dense
    fed: Norm


class Hand(Protocol):
    """Somebody who writes the parts of an encoder, in operators that he prefers; values are (batch, length, width)."""

    def mask(self, kept: ir.Value, length: int) -> ir.Value:
        """Return what :meth:`attend` takes, for int32 (batch, length): 0 where a token is padding."""
        ...

    def embed(self, tables: Sequence[tuple[ir.Value, Array]], positions: Array, norm: Norm | None) -> ir.Value:
        """Return rows of tables, chosen by int32 (batch, length), plus (length, width), normalised."""
        ...

    def normalise(self, x: ir.Value, norm: Norm) -> ir.Value:
        """Return the normalised value."""
        ...

    def attend(self, x: ir.Value, attention: Attention, mask: ir.Value | None) -> ir.Value:
        """Return the attention's output, without its last bias."""
        ...

    def feed(self, x: ir.Value, expand: Dense, contract: Dense) -> ir.Value:
        """Return the feed-forward part, without its last bias."""
        ...

    def join(self, x: ir.Value, bias: Array, skip: ir.Value, norm: Norm) -> tuple[ir.Value, ir.Value]:
        """Return ``x + bias + skip`` normalised, and as it is."""
        ...


def write_encoder(
    hand: Hand, x: ir.Value, first: Norm | None, blocks: Sequence[Block], mask: ir.Value | None = None
) -> ir.Value:
    """Write all layers and return the last normalised value.

    Args:
        hand: Who writes.
        x: What comes in.
        first: What normalises it, where normalisation comes before each part (Xiong et al., ICML 2020); ``None``
            where it comes behind each sum.
        blocks: At least one.
        mask: Made by ``hand``.
    """
    normalised = x if first is None else hand.normalise(x, first)
    for block in blocks:
        mixed = hand.attend(normalised, block.attention, mask)
        normalised, total = hand.join(mixed, block.attention.output.bias, x, block.attended)
        x = normalised if first is None else total
        fed = hand.feed(normalised, block.expand, block.contract)
        normalised, total = hand.join(fed, block.contract.bias, x, block.fed)
        x = normalised if first is None else total
    return normalised
