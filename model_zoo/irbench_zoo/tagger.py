"""Tagging with an LSTM in both directions (Huang et al., *Bidirectional LSTM-CRF Models for Sequence Tagging*, 2015).

The conditional random field that follows it in the paper is left out.
"""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

VOCABULARY = 130_000
EMBEDDING = 50
HIDDEN = 300
STEPS = 32
TAGS = 9


def _build_bilstm_tagger() -> Any:
    """Return the tagger as an uncompiled ``keras.Model``.

    Tokens of shape ``(batch, 32)`` give probabilities of the nine tags of CoNLL-2003, ``(batch, 32, 9)``.
    """
    import keras
    from keras import layers

    ids = keras.Input((STEPS,), dtype="int32", name=TOKENS)
    x = layers.Embedding(VOCABULARY, EMBEDDING, name="embedding")(ids)
    x = layers.Bidirectional(layers.LSTM(HIDDEN, return_sequences=True), name="bilstm")(x)
    scores = layers.Dense(TAGS, activation="softmax", name="tags")(x)
    return keras.Model(ids, scores, name="bilstm_tagger")


bilstm_tagger = ModelSource(
    name="bilstm_tagger",
    family="recurrent tagger",
    summary="1 LSTM layer of 300 in each direction, 32 steps, 130000 words",
    inputs=tokens(STEPS, VOCABULARY),
    build=_build_bilstm_tagger,
    parameters=7_347_809,
    macs=27_052_800,
)
