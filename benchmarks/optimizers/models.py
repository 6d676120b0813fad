"""PyTorch models of real architectures with seeded random weights; few layers where the whole model is slow.

Runs in the environment of ``requirements-optimizers.lock``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torchvision
import transformers
from transformers import DynamicCache

_VOCABULARY = 1000
_HEADS, _WIDTH, _LAYERS = 4, 256, 4
_POSITIONS = 512
_BATCH, _SEQUENCE, _PAST = 2, 6, 5
"""Sizes of the example that exporters trace: all different, so that none is taken for another."""

Axes = Mapping[int, str]


@dataclass(frozen=True)
class Example:
    """A model with what it is traced on.

    Attributes:
        model: Takes the inputs by position.
        inputs: By name, in order.
        outputs: Names, in order.
        axes: The dynamic ones of each input.
    """

    model: Any
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    axes: Mapping[str, Axes]


def build(name: str) -> Example:
    """Return a model of :data:`benchmarks.optimizers.subjects.SUBJECTS`, the same in every process."""
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # an operator that no exporter knows
    if name in _VISION:
        return _of_image(_VISION[name](), (3, 224, 224))
    if name in _TEXTS:
        return _of_text(_TEXTS[name]())
    if name in _DECODERS:
        return _of_text(_Decoder(_DECODERS[name]()))
    if name.endswith("_past"):
        return _of_step(_DECODERS[name.removesuffix("_past")]())
    return _OTHERS[name]()


class _First(torch.nn.Module):
    """A model of transformers that answers its first output alone."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.eval()

    def forward(self, *inputs: Any) -> Any:
        return self.model(*inputs, return_dict=False)[0]


class _Decoder(torch.nn.Module):
    """A decoder without a cache."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.eval()

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits


class _Step(torch.nn.Module):
    """A decoder that takes keys and values of earlier tokens, and answers them with those of the new ones."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.eval()

    def forward(self, input_ids: Any, attention_mask: Any, *past: Any) -> Any:
        cache = DynamicCache([(past[at], past[at + 1]) for at in range(0, len(past), 2)])
        answer = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        present = (part for layer in answer.past_key_values.layers for part in (layer.keys, layer.values))
        return (answer.logits, *present)


def _of_image(model: Any, shape: tuple[int, ...], name: str = "image") -> Example:
    images = torch.rand(_BATCH, *shape)
    return Example(model.eval(), {name: images}, ("scores",), {name: {0: "batch"}})


def _of_text(model: Any) -> Example:
    axes = {0: "batch", 1: "sequence"}
    tokens = torch.randint(0, _VOCABULARY, (_BATCH, _SEQUENCE))
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    return Example(model.eval(), inputs, ("hidden",), dict.fromkeys(inputs, axes))


def _of_step(model: Any) -> Example:
    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    inputs = {
        "input_ids": torch.randint(0, _VOCABULARY, (_BATCH, _SEQUENCE)),
        "attention_mask": torch.ones(_BATCH, _PAST + _SEQUENCE, dtype=torch.int64),
    }
    axes: dict[str, Axes] = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "total"}}
    for layer in range(_LAYERS):
        for part in ("key", "value"):
            name = f"past_{layer}_{part}"
            inputs[name] = torch.randn(_BATCH, heads, _PAST, _WIDTH // _HEADS)
            axes[name] = {0: "batch", 2: "past"}
    outputs = ("logits", *(name.replace("past", "present") for name in list(inputs)[2:]))
    return Example(_Step(model).eval(), inputs, outputs, axes)


def _torchvision(name: str) -> Callable[[], Any]:
    return lambda: torchvision.models.get_model(name, weights=None)


def _vit() -> Any:
    return torchvision.models.VisionTransformer(
        image_size=224, patch_size=16, num_layers=_LAYERS, num_heads=12, hidden_dim=768, mlp_dim=3072
    )


def _clip() -> Any:
    config = transformers.CLIPVisionConfig(**_sizes(), image_size=224, patch_size=32)
    return _First(transformers.CLIPVisionModel(config))


def _sizes(**more: Any) -> dict[str, Any]:
    usual = {"hidden_size": _WIDTH, "num_hidden_layers": _LAYERS, "num_attention_heads": _HEADS}
    return {**usual, "intermediate_size": 4 * _WIDTH, **more}


def _text(model: str, config: str, **settings: Any) -> Callable[[], Any]:
    def built() -> Any:
        made = getattr(transformers, config)(vocab_size=_VOCABULARY, **settings)
        return _First(getattr(transformers, model)(made))

    return built


def _decoder(model: str, config: str, **settings: Any) -> Callable[[], Any]:
    return lambda: getattr(transformers, model)(getattr(transformers, config)(vocab_size=_VOCABULARY, **settings))


def _of_mel() -> Example:
    config = transformers.WhisperConfig(
        d_model=_WIDTH, encoder_layers=_LAYERS, encoder_attention_heads=_HEADS, encoder_ffn_dim=4 * _WIDTH,
        max_source_positions=150, decoder_layers=1, decoder_attention_heads=_HEADS,
    )  # fmt: skip
    encoder = transformers.WhisperModel(config).get_encoder()
    return _of_image(_First(encoder), (80, 300), "mel")


def _of_sound() -> Example:
    config = transformers.Wav2Vec2Config(**_sizes(), conv_dim=(128,) * 7, num_conv_pos_embeddings=32)
    sound = torch.randn(_BATCH, 4000)
    axes = {"sound": {0: "batch", 1: "samples"}}
    return Example(_First(transformers.Wav2Vec2Model(config)).eval(), {"sound": sound}, ("hidden",), axes)


_VISION = {
    **{
        name: _torchvision(name)
        for name in (
            *("resnet50", "mobilenet_v3_small", "efficientnet_b0", "regnet_y_400mf"),
            *("densenet121", "convnext_tiny", "swin_t"),
        )
    },
    "vit_b_16": _vit,
    "clip_vision": _clip,
}
_TEXTS = {
    "bert": _text("BertModel", "BertConfig", **_sizes()),
    "roberta": _text("RobertaModel", "RobertaConfig", **_sizes()),
    "distilbert": _text(
        "DistilBertModel", "DistilBertConfig", dim=_WIDTH, n_layers=_LAYERS, n_heads=_HEADS, hidden_dim=4 * _WIDTH
    ),
    "albert": _text("AlbertModel", "AlbertConfig", **_sizes(embedding_size=128)),
    "deberta_v2": _text(
        "DebertaV2Model",
        "DebertaV2Config",
        **_sizes(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=32),
    ),
    "t5_encoder": _text(
        "T5EncoderModel",
        "T5Config",
        d_model=_WIDTH,
        d_kv=_WIDTH // _HEADS,
        d_ff=4 * _WIDTH,
        num_layers=_LAYERS,
        num_heads=_HEADS,
    ),
    "bart_encoder": lambda: _First(
        transformers.BartModel(
            transformers.BartConfig(
                vocab_size=_VOCABULARY,
                d_model=_WIDTH,
                encoder_layers=_LAYERS,
                encoder_attention_heads=_HEADS,
                encoder_ffn_dim=4 * _WIDTH,
                decoder_layers=1,
                max_position_embeddings=_POSITIONS,
            )
        ).get_encoder()
    ),
}
_DECODERS = {
    "gpt2": _decoder(
        "GPT2LMHeadModel", "GPT2Config", n_embd=_WIDTH, n_layer=_LAYERS, n_head=_HEADS, n_positions=_POSITIONS
    ),
    "llama": _decoder("LlamaForCausalLM", "LlamaConfig", **_sizes(num_key_value_heads=2)),
    "mistral": _decoder("MistralForCausalLM", "MistralConfig", **_sizes(num_key_value_heads=2, sliding_window=32)),
    "qwen2": _decoder("Qwen2ForCausalLM", "Qwen2Config", **_sizes(num_key_value_heads=2)),
}
_OTHERS: Mapping[str, Callable[[], Example]] = {"whisper_encoder": _of_mel, "wav2vec2": _of_sound}
