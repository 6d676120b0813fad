"""Recurrent language models over the vocabulary of the Penn Treebank (after Zaremba et al., 2014).

The gated recurrent unit is that of Cho et al., 2014.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

VOCABULARY = 10_000
HIDDEN = 1024
STEPS = 32


def _build_language_model(kind: str, depth: int) -> Any:
    """Return ``depth`` layers of a kind between an embedding and a dense layer, as an uncompiled ``keras.Model``.

    Tokens of shape ``(batch, 32)`` give logits of shape ``(batch, 32, 10000)``.
    """
    import keras
    from keras import layers

    ids = keras.Input((STEPS,), dtype="int32", name=TOKENS)
    x = layers.Embedding(VOCABULARY, HIDDEN, name="embedding")(ids)
    for position in range(depth):
        x = getattr(layers, kind)(HIDDEN, return_sequences=True, name=f"{kind.lower()}{position + 1}")(x)
    logits = layers.Dense(VOCABULARY, name="logits")(x)
    return keras.Model(ids, logits, name=f"{kind.lower()}_ptb_{depth}")


def _source(kind: str, depth: int, *, parameters: int, macs: int) -> ModelSource:
    layers = f"1 {kind} layer" if depth == 1 else f"{depth} {kind} layers"
    return ModelSource(
        name=f"{kind.lower()}_ptb_{depth}",
        family="recurrent network",
        summary=f"{layers} of {HIDDEN}, {STEPS} steps, {VOCABULARY} words",
        inputs=tokens(STEPS, VOCABULARY),
        build=partial(_build_language_model, kind, depth),
        parameters=parameters,
        macs=macs,
    )


lstm_ptb_1 = _source("LSTM", 1, parameters=28_882_704, macs=596_115_456)
lstm_ptb_2 = _source("LSTM", 2, parameters=37_275_408, macs=864_550_912)
lstm_ptb_4 = _source("LSTM", 4, parameters=54_060_816, macs=1_401_421_824)
gru_ptb_1 = _source("GRU", 1, parameters=26_787_600, macs=529_006_592)
