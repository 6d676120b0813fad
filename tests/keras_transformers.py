"""Small Keras models whose graphs the optimiser must shrink. Everything here imports Keras: call it in a worker."""

from __future__ import annotations

from typing import Any

_TOKENS, _WORDS, _WIDTH, _HEADS, _DEPTH = 16, 97, 32, 4, 3


def bert() -> Any:
    """Embeddings and blocks with a padding mask: int32 tokens and mask (batch, 16) to states and a pooled one."""
    import keras
    from keras import layers, ops

    tokens = keras.Input((_TOKENS,), dtype="int32", name="tokens")
    mask = keras.Input((_TOKENS,), dtype="int32", name="mask")
    places = layers.Embedding(_TOKENS, _WIDTH)(ops.arange(_TOKENS))
    x = layers.LayerNormalization(epsilon=1e-12)(layers.Embedding(_WORDS, _WIDTH)(tokens) + places)
    for _ in range(_DEPTH):
        attention = layers.MultiHeadAttention(_HEADS, _WIDTH // _HEADS)
        attended = attention(x, x, attention_mask=ops.expand_dims(ops.cast(mask, "bool"), 1))
        x = layers.LayerNormalization(epsilon=1e-12)(layers.add([x, attended]))
        hidden = layers.Dense(_WIDTH)(ops.gelu(layers.Dense(4 * _WIDTH)(x), approximate=False))
        x = layers.LayerNormalization(epsilon=1e-12)(layers.add([x, hidden]))
    return keras.Model([tokens, mask], [x, layers.Dense(_WIDTH, activation="tanh")(x[:, 0])])


def vit() -> Any:
    """Patches, pre-norm blocks of Keras' own layers with the tanh form of GELU, a head: images 32x32x3 to scores."""
    import keras
    from keras import layers, ops

    image = keras.Input((32, 32, 3), name="image")
    patches = layers.Conv2D(_WIDTH, 8, 8)(image)
    x = layers.Reshape((_TOKENS, _WIDTH))(patches)
    x = x + layers.Embedding(_TOKENS, _WIDTH)(ops.arange(_TOKENS))
    for _ in range(_DEPTH):
        normalised = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.add([x, layers.MultiHeadAttention(_HEADS, _WIDTH // _HEADS)(normalised, normalised)])
        hidden = layers.Dense(4 * _WIDTH)(layers.LayerNormalization(epsilon=1e-6)(x))
        x = layers.add([x, layers.Dense(_WIDTH)(ops.gelu(hidden, approximate=True))])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(image, layers.Dense(10, activation="softmax")(x))


def gpt() -> Any:
    """Pre-norm blocks under a causal mask and a tied output embedding: int32 tokens of any length to logits."""
    import keras
    from keras import layers, ops

    tokens = keras.Input((None,), dtype="int32", name="tokens")
    words: Any = layers.ReversibleEmbedding(_WORDS, _WIDTH)
    x = words(tokens)
    for _ in range(_DEPTH):
        normalised = layers.LayerNormalization(epsilon=1e-5)(x)
        attention = layers.MultiHeadAttention(_HEADS, _WIDTH // _HEADS)
        x = layers.add([x, attention(normalised, normalised, use_causal_mask=True)])
        hidden = layers.Dense(4 * _WIDTH)(layers.LayerNormalization(epsilon=1e-5)(x))
        x = layers.add([x, layers.Dense(_WIDTH)(ops.gelu(hidden, approximate=True))])
    return keras.Model(tokens, words(layers.LayerNormalization(epsilon=1e-5)(x), reverse=True))


def gru(reset_after: bool, return_sequences: bool, direction: str, units: int = 5) -> Any:
    """A recurrent layer over 7 steps of width 3: ``direction`` is forward, backward or bidirectional."""
    import keras
    from keras import layers

    steps = keras.Input((7, 3), name="steps")
    layer: Any = layers.GRU(
        units,
        reset_after=reset_after,
        return_sequences=return_sequences,
        go_backwards=direction == "backward",
        bias_initializer="glorot_uniform",
        use_cudnn=False,
    )
    return keras.Model(steps, (layers.Bidirectional(layer) if direction == "bidirectional" else layer)(steps))
