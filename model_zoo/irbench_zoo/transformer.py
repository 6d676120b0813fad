"""The Transformer's encoder (Vaswani et al., *Attention Is All You Need*, NeurIPS 2017)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import TOKENS, tokens

# Words of the paper's English-German byte-pair encoding.
VOCABULARY = 37_000
DEPTH = 6
WIDTH = 512
HEADS = 8
FEED_FORWARD = 2048


def _build_transformer_base() -> Any:
    """Return the base encoder, with GELU for ReLU, as an uncompiled ``keras.Model``.

    Tokens of shape ``(batch, sequence)`` give hidden states of shape ``(batch, sequence, 512)``.
    """
    import keras
    from keras import layers

    from irbench_zoo.transformer_layers import PositionalEncoding

    ids = keras.Input((None,), dtype="int32", name=TOKENS)
    x = layers.Embedding(VOCABULARY, WIDTH, name="embedding")(ids)
    x = PositionalEncoding(name="positions")(x)
    for position in range(DEPTH):
        x = _block(x, f"block{position + 1}")
    return keras.Model(ids, x, name="transformer_base")


def _block(x: Any, name: str) -> Any:
    from keras import layers

    from irbench_zoo.transformer_layers import SelfAttention

    attended = SelfAttention(WIDTH, HEADS, name=f"{name}_attention")(x)
    x = layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm1")(layers.add([x, attended], name=f"{name}_add1"))
    hidden = layers.Dense(FEED_FORWARD, activation="gelu", name=f"{name}_expand")(x)
    hidden = layers.Dense(WIDTH, name=f"{name}_contract")(hidden)
    return layers.LayerNormalization(epsilon=1e-6, name=f"{name}_norm2")(layers.add([x, hidden], name=f"{name}_add2"))


transformer_base = ModelSource(
    name="transformer_base",
    family="Transformer encoder",
    summary="6 layers of width 512 with 8 heads and GELU, any sequence length",
    inputs=tokens("sequence", VOCABULARY),
    build=_build_transformer_base,
    defaults={"sequence": 128},
    classifier=False,
    parameters=37_858_304,
    macs=2_516_582_400,
)
