"""The recurrent language model of ``lstm_ptb`` with a gated recurrent unit (Cho et al., 2014) in place of the LSTM."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

VOCABULARY = 10_000
HIDDEN = 1024
STEPS = 32


def build_gru_ptb_1() -> Any:
    """Return a GRU layer between an embedding and a dense layer, as an uncompiled ``keras.Model``.

    Tokens of shape ``(batch, 32)`` give logits of shape ``(batch, 32, 10000)``.
    """
    import keras
    from keras import layers

    ids = keras.Input((STEPS,), dtype="int32", name=TOKENS)
    x = layers.Embedding(VOCABULARY, HIDDEN, name="embedding")(ids)
    x = layers.GRU(HIDDEN, return_sequences=True, name="gru1")(x)
    return keras.Model(ids, layers.Dense(VOCABULARY, name="logits")(x), name="gru_ptb_1")


gru_ptb_1 = ModelSource(
    name="gru_ptb_1",
    family="recurrent network",
    summary=f"1 GRU layer of {HIDDEN}, {STEPS} steps, {VOCABULARY} words",
    inputs=tokens(STEPS, VOCABULARY),
    build=build_gru_ptb_1,
    defaults={},
    parameters=26_787_600,
    macs=529_006_592,
)
