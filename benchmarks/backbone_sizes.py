"""Backbones of keras-hub at sizes that are used: ``module:function`` for ``irbench export``.

Whisper takes inputs of fixed lengths, because its audio and its text have different ones. It listens to ten seconds;
the vision Transformer has eight of its twelve layers, so that a call takes about a tenth of a second on two cores.
"""

from __future__ import annotations

from typing import Any

TOKENS = 128
_FRAMES, _MEL_BANDS, _SPOKEN = 1000, 80, 64
_IMAGE = (224, 224, 3)
_BASE = {"num_layers": 12, "num_heads": 12, "hidden_dim": 768, "intermediate_dim": 3072}


def bert() -> Any:
    """Return BERT of the size base, Devlin et al., 2019."""
    return _backbone("BertBackbone", vocabulary_size=30_522, **_BASE, max_sequence_length=512, name="hub_bert")


def gpt2() -> Any:
    """Return GPT-2 of the size base, Radford et al., 2019, without the logits."""
    return _backbone("GPT2Backbone", vocabulary_size=50_257, **_BASE, max_sequence_length=1024, name="hub_gpt2")


def llama() -> Any:
    """Return a small decoder as Touvron et al., 2023, describe them, whose heads share keys and values in pairs."""
    return _backbone(
        "LlamaBackbone",
        vocabulary_size=32_000,
        num_layers=8,
        num_query_heads=8,
        num_key_value_heads=4,
        hidden_dim=512,
        intermediate_dim=1408,
        name="hub_llama",
    )


def whisper() -> Any:
    """Return Whisper of the size base, Radford et al., 2022, for ten seconds and 64 tokens."""
    import keras

    backbone = _backbone(
        "WhisperBackbone",
        vocabulary_size=51_865,
        num_layers=6,
        num_heads=8,
        hidden_dim=512,
        intermediate_dim=2048,
        num_mels=_MEL_BANDS,
        max_encoder_sequence_length=_FRAMES,
        max_decoder_sequence_length=448,
    )
    inputs = {
        "encoder_features": keras.Input((_FRAMES, _MEL_BANDS), name="encoder_features"),
        "decoder_token_ids": keras.Input((_SPOKEN,), dtype="int32", name="decoder_token_ids"),
        "decoder_padding_mask": keras.Input((_SPOKEN,), dtype="int32", name="decoder_padding_mask"),
    }
    return keras.Model(inputs, backbone(inputs), name="hub_whisper")


def vit() -> Any:
    """Return a vision Transformer of the width of the size base, Dosovitskiy et al., 2021."""
    return _backbone(
        "ViTBackbone",
        image_shape=_IMAGE,
        patch_size=16,
        num_layers=8,
        num_heads=12,
        hidden_dim=768,
        mlp_dim=3072,
        name="hub_vit",
    )


def swin() -> Any:
    """Return Swin of the size tiny, Liu et al., 2021."""
    return _backbone(
        "SwinTransformerBackbone",
        image_shape=_IMAGE,
        embed_dim=96,
        depths=(2, 2, 6, 2),
        num_heads=(3, 6, 12, 24),
        window_size=7,
        name="hub_swin",
    )


def _backbone(constructor: str, **settings: Any) -> Any:
    import keras_hub

    return getattr(keras_hub.models, constructor)(**settings)
