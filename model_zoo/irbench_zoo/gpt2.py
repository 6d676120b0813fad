"""Language models that read from left to right, once over a whole text, as when a prompt is read.

GPT-2 is that of Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019; the one of half its depth
is distilled from it as in Sanh et al., *DistilBERT*, 2019.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

VOCABULARY = 50_257
POSITIONS = 1024
WIDTH = 768
HEADS = 12
EPSILON = 1e-5


def _build_gpt2(depth: int, name: str) -> Any:
    """Return the model, whose output embedding is that of its input, as an uncompiled ``keras.Model``.

    Tokens of shape ``(batch, sequence)`` give logits of shape ``(batch, sequence, 50257)``.
    """
    import keras
    from keras import layers

    from irbench_zoo.transformer_layers import Block, Positions, stack, tanh_gelu

    ids = keras.Input((None,), dtype="int32", name=TOKENS)
    words: Any = layers.ReversibleEmbedding(VOCABULARY, WIDTH, name="words")
    x = Positions(POSITIONS, name="positions")(words(ids))
    causal = {"use_causal_mask": True}
    x = stack(x, Block(WIDTH, HEADS, EPSILON, tanh_gelu, normalise_first=True, attention=causal), depth)
    x = layers.LayerNormalization(epsilon=EPSILON, name="norm")(x)
    return keras.Model(ids, words(x, reverse=True), name=name)


def _source(name: str, depth: int, parameters: int, macs: int) -> ModelSource:
    return ModelSource(
        name=name,
        family="Transformer decoder",
        summary=f"{depth} layers of width {WIDTH} with {HEADS} heads, reads a prompt",
        inputs=tokens("sequence", VOCABULARY),
        build=partial(_build_gpt2, depth, name),
        defaults={"sequence": 64},
        parameters=parameters,
        macs=macs,
    )


gpt2_small = _source("gpt2_small", 12, 124_439_808, 7_981_547_520)
distilgpt2 = _source("distilgpt2", 6, 81_912_576, 5_225_889_792)
