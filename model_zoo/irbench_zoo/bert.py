"""Bidirectional encoders (Devlin et al., *BERT*, NAACL 2019).

The smaller ones are those of Turc et al., *Well-Read Students Learn Better*, 2019. The generated mask keeps the first
tokens of each sequence, between one and all but one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

VOCABULARY = 30_522
POSITIONS = 512
SEGMENTS = 2
EPSILON = 1e-12
MASK = "mask"
SEGMENT_IDS = "segments"


def _build_bert(depth: int, width: int, name: str) -> Any:
    """Return the encoder with its pooler, heads 64 wide, as an uncompiled ``keras.Model``.

    Tokens, a mask (0 where a token is padding) and segments, each of shape ``(batch, sequence)``, give hidden states of
    shape ``(batch, sequence, width)`` and a pooled state of shape ``(batch, width)``.
    """
    import keras
    from keras import layers, ops

    from irbench_zoo.transformer_layers import Block, Positions, exact_gelu, stack

    ids, mask, segments = (keras.Input((None,), dtype="int32", name=token) for token in (TOKENS, MASK, SEGMENT_IDS))
    words = layers.Embedding(VOCABULARY, width, name="words")(ids)
    x = layers.add([words, layers.Embedding(SEGMENTS, width, name="kinds")(segments)], name="embeddings")
    x = Positions(POSITIONS, name="positions")(x)
    x = layers.LayerNormalization(epsilon=EPSILON, name="embeddings_norm")(x)
    kept = {"attention_mask": ops.expand_dims(ops.cast(mask, "bool"), 1)}
    x = stack(x, Block(width, width // 64, EPSILON, exact_gelu, normalise_first=False, attention=kept), depth)
    pooled = layers.Dense(width, activation="tanh", name="pooler")(x[:, 0])
    return keras.Model([ids, mask, segments], [x, pooled], name=name)


def _source(name: str, depth: int, width: int, parameters: int, macs: int) -> ModelSource:
    shape = (BATCH, "sequence")
    mask = InputSpec(TensorSpec(MASK, "int32", shape), 0, 2, is_mask=True)
    segments = InputSpec(TensorSpec(SEGMENT_IDS, "int32", shape), 0, 2)
    return ModelSource(
        name=name,
        family="Transformer encoder",
        summary=f"{depth} layers of width {width} with {width // 64} heads, padding mask",
        inputs=(*tokens("sequence", VOCABULARY), mask, segments),
        build=partial(_build_bert, depth, width, name),
        defaults={"sequence": 128},
        classifier=False,
        parameters=parameters,
        macs=macs,
    )


bert_mini = _source("bert_mini", 4, 256, 11_170_560, 436_273_152)
bert_small = _source("bert_small", 4, 512, 28_763_648, 1_677_983_744)
bert_medium = _source("bert_medium", 8, 512, 41_373_184, 3_355_705_344)
bert_base = _source("bert_base", 12, 768, 109_482_240, 11_174_215_680)
