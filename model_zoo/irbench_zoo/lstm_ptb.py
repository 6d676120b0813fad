"""Recurrent language models over the vocabulary of the Penn Treebank (after Zaremba et al., 2014)."""

from __future__ import annotations

from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

VOCABULARY = 10_000
HIDDEN = 1024
STEPS = 32


def build_lstm_ptb(depth: int) -> Any:
    """Return ``depth`` LSTM layers between an embedding and a dense layer, as an uncompiled ``keras.Model``.

    Tokens of shape ``(batch, 32)`` give logits of shape ``(batch, 32, 10000)``.
    """
    import keras
    from keras import layers

    ids = keras.Input((STEPS,), dtype="int32", name=TOKENS)
    x = layers.Embedding(VOCABULARY, HIDDEN, name="embedding")(ids)
    for position in range(depth):
        x = layers.LSTM(HIDDEN, return_sequences=True, name=f"lstm{position + 1}")(x)
    logits = layers.Dense(VOCABULARY, name="logits")(x)
    return keras.Model(ids, logits, name=f"lstm_ptb_{depth}")


def _source(depth: int, *, parameters: int, macs: int) -> ModelSource:
    layers = "1 LSTM layer" if depth == 1 else f"{depth} LSTM layers"
    return ModelSource(
        name=f"lstm_ptb_{depth}",
        family="recurrent network",
        summary=f"{layers} of {HIDDEN}, {STEPS} steps, {VOCABULARY} words",
        inputs=tokens(STEPS, VOCABULARY),
        build=partial(build_lstm_ptb, depth),
        defaults={},
        parameters=parameters,
        macs=macs,
    )


lstm_ptb_1 = _source(1, parameters=28_882_704, macs=596_115_456)
lstm_ptb_2 = _source(2, parameters=37_275_408, macs=864_550_912)
lstm_ptb_4 = _source(4, parameters=54_060_816, macs=1_401_421_824)
