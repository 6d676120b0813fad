"""Backbones of the package keras-hub in small configurations: graphs of many architectures as their authors wrote them.

Every one has two layers, which is enough to show what layers share and what each repeats, and random weights: nothing
is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec, is_named_as_mask
from irbench.spi import ModelSource

DISTRIBUTION = "keras-hub"
FAMILY = "keras-hub backbone"
LENGTH = 16
"""Tokens of a text, unless a run says otherwise."""
SEQUENCE = "sequence"

_Settings = Mapping[str, Any]
"""Arguments of a backbone's constructor."""


def _source(
    name: str, constructor: str, settings: _Settings, inputs: tuple[InputSpec, ...], counts: tuple[int, int]
) -> ModelSource:
    """Return a backbone, ``keras_hub_NAME`` on the command line."""
    dynamic = any(SEQUENCE in spec.tensor.dynamic_dimensions for spec in inputs)
    return ModelSource(
        name=f"keras_hub_{name}",
        family=FAMILY,
        summary=f"{constructor} of keras-hub with few and narrow layers",
        inputs=inputs,
        build=partial(_build, constructor, settings),
        defaults={SEQUENCE: LENGTH} if dynamic else {},
        classifier=False,
        parameters=counts[0],
        macs=counts[1],
        requires=(DISTRIBUTION,),
    )


def _build(constructor: str, settings: _Settings) -> Any:
    """Return a backbone as an uncompiled ``keras.Model``; imports keras-hub."""
    import keras_hub

    return getattr(keras_hub.models, constructor)(**settings)


def _token_ids(name: str, high: int) -> InputSpec:
    """Return an int32 input of shape ``(batch, sequence)``: a mask if it is named so, or values in ``[0, high)``."""
    return InputSpec(TensorSpec(name, "int32", (BATCH, SEQUENCE)), 0, high, is_named_as_mask(name))


VOCABULARY, WIDTH, HIDDEN, HEADS, KEY_HEADS = 97, 32, 64, 4, 2
LAYERS = 2
POSITIONS = 256
MEL_BANDS = 80

_LAYERS: _Settings = {
    "vocabulary_size": VOCABULARY,
    "num_layers": LAYERS,
    "hidden_dim": WIDTH,
    "intermediate_dim": HIDDEN,
}
_ENCODER: _Settings = {**_LAYERS, "num_heads": HEADS}
_WITH_POSITIONS: _Settings = {**_ENCODER, "max_sequence_length": POSITIONS}
_GROUPED: _Settings = {**_LAYERS, "num_query_heads": HEADS, "num_key_value_heads": KEY_HEADS}
_HEADS_OF_8: _Settings = {**_GROUPED, "head_dim": 8}
_EXPERTS: _Settings = {**_GROUPED, "num_experts": 4, "top_k": 2}

_MASK, _TOKENS = _token_ids("padding_mask", 2), _token_ids("token_ids", VOCABULARY)
_PLAIN = (_MASK, _TOKENS)
_SEGMENTED = (_MASK, _token_ids("segment_ids", 2), _TOKENS)
_DECODED = (_token_ids("decoder_padding_mask", 2), _token_ids("decoder_token_ids", VOCABULARY))
_TRANSLATED = (*_DECODED, _token_ids("encoder_padding_mask", 2), _token_ids("encoder_token_ids", VOCABULARY))
_HEARD = (*_DECODED, InputSpec(TensorSpec("encoder_features", "float32", (BATCH, SEQUENCE, MEL_BANDS)), 0.0, 1.0))


def _text(
    name: str, constructor: str, settings: _Settings, counts: tuple[int, int], inputs: tuple[InputSpec, ...] = _PLAIN
) -> ModelSource:
    return _source(name, constructor, settings, inputs, counts)


albert = _text("albert", "AlbertBackbone", {**_WITH_POSITIONS, "embedding_dim": 16}, (15_856, 304_128), _SEGMENTED)
bart = _text("bart", "BartBackbone", _WITH_POSITIONS, (62_368, 753_664), _TRANSLATED)
bert = _text("bert", "BertBackbone", _WITH_POSITIONS, (29_568, 295_936), _SEGMENTED)
bloom = _text("bloom", "BloomBackbone", _ENCODER, (20_320, 294_912))
deberta_v3 = _text("deberta_v3", "DebertaV3Backbone", {**_WITH_POSITIONS, "bucket_size": 32}, (22_368, 688_128))
distil_bert = _text("distil_bert", "DistilBertBackbone", _WITH_POSITIONS, (28_448, 294_912))
electra = _text(
    "electra",
    "ElectraBackbone",
    {
        "vocab_size": VOCABULARY,
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "hidden_dim": WIDTH,
        "embedding_dim": 16,
        "intermediate_dim": HIDDEN,
        "max_sequence_length": POSITIONS,
    },
    (24_400, 304_128),
    _SEGMENTED,
)
esm = _text("esm", "ESM2Backbone", _ENCODER, (20_256, 294_912), (_TOKENS,))
f_net = _text(
    "f_net",
    "FNetBackbone",
    {**_LAYERS, "max_sequence_length": POSITIONS},
    (22_240, 148_480),
    (_token_ids("segment_ids", 2), _TOKENS),
)
falcon = _text("falcon", "FalconBackbone", {**_LAYERS, "num_attention_heads": HEADS}, (20_256, 294_912))
gemma = _text("gemma", "GemmaBackbone", _HEADS_OF_8, (15_552, 229_376))
gemma2 = _text(
    "gemma2",
    "GemmaBackbone",
    {
        **_HEADS_OF_8,
        "attention_logit_soft_cap": 50.0,
        "final_logit_soft_cap": 30.0,
        "use_sliding_window_attention": True,
        "sliding_window_size": 8,
        "use_post_ffw_norm": True,
        "use_post_attention_norm": True,
    },
    (15_680, 229_376),
)
gemma3 = _text(
    "gemma3",
    "Gemma3Backbone",
    {**_HEADS_OF_8, "image_size": 32, "use_sliding_window_attention": True, "sliding_window_size": 8},
    (21_728, 327_680),
)
gpt2 = _text("gpt2", "GPT2Backbone", _WITH_POSITIONS, (28_448, 294_912))
gpt_neo_x = _text("gpt_neo_x", "GPTNeoXBackbone", _WITH_POSITIONS, (20_256, 294_912))
gpt_oss = _text("gpt_oss", "GptOssBackbone", {**_EXPERTS, "sliding_window": 8}, (63_408, 921_600))
llama = _text("llama", "LlamaBackbone", _GROUPED, (24_800, 327_680))
llama3 = _text("llama3", "Llama3Backbone", _GROUPED, (24_800, 327_680))
mistral = _text("mistral", "MistralBackbone", {**_GROUPED, "sliding_window": 8}, (24_800, 327_680))
mixtral = _text("mixtral", "MixtralBackbone", {**_EXPERTS, "sliding_window": 8}, (61_920, 921_600))
opt = _text("opt", "OPTBackbone", _WITH_POSITIONS, (28_448, 294_912))
phi3 = _text("phi3", "Phi3Backbone", {**_GROUPED, "max_sequence_length": POSITIONS}, (24_800, 327_680))
qwen = _text("qwen", "QwenBackbone", _GROUPED, (21_824, 327_680))
qwen3 = _text("qwen3", "Qwen3Backbone", _HEADS_OF_8, (21_728, 327_680))
qwen3_moe = _text(
    "qwen3_moe", "Qwen3MoeBackbone", {**_EXPERTS, "moe_intermediate_dim": 16, "head_dim": 8}, (25_088, 331_776)
)
qwen_moe = _text(
    "qwen_moe",
    "QwenMoeBackbone",
    {**_EXPERTS, "moe_intermediate_dim": 16, "shared_expert_intermediate_dim": 16},
    (28_320, 381_952),
)
roberta = _text("roberta", "RobertaBackbone", _WITH_POSITIONS, (28_448, 294_912))
roformer_v2 = _text(
    "roformer_v2",
    "RoformerV2Backbone",
    {**_ENCODER, "head_size": 8},
    (19_712, 295_040),
    (_token_ids("segment_ids", 2), _TOKENS),
)
smollm3 = _text(
    "smollm3",
    "SmolLM3Backbone",
    {
        **_LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "rope_layer_enabled_list": [True, False],
        "layer_types": ["attention"] * LAYERS,
        "mlp_bias": False,
        "layer_norm_epsilon": 1e-5,
        "max_position_embeddings": POSITIONS,
        "rope_theta": 10000.0,
        "partial_rotary_factor": 1.0,
    },
    (21_704, 327_744),
)
t5 = _text("t5", "T5Backbone", _ENCODER, (52_896, 884_736), _TRANSLATED)
whisper = _text(
    "whisper",
    "WhisperBackbone",
    {**_ENCODER, "max_encoder_sequence_length": POSITIONS, "max_decoder_sequence_length": POSITIONS},
    (68_896, 696_320),
    _HEARD,
)
xlm_roberta = _text("xlm_roberta", "XLMRobertaBackbone", _WITH_POSITIONS, (28_448, 294_912))


_SMALL, _LARGE = (32, 32, 3), (64, 64, 3)
_PATCHES: _Settings = {
    "image_shape": _SMALL,
    "patch_size": 8,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "hidden_dim": WIDTH,
}


def _vision(
    name: str, constructor: str, settings: _Settings, counts: tuple[int, int], image: str = "image"
) -> ModelSource:
    shape: tuple[int, int, int] = settings["image_shape"]
    pixels = InputSpec(TensorSpec(image, "float32", (BATCH, *shape)), 0.0, 1.0)
    return _source(name, constructor, settings, (pixels,), counts)


deit = _vision("deit", "DeiTBackbone", {**_PATCHES, "intermediate_dim": HIDDEN}, (23_968, 434_688))
densenet = _vision(
    "densenet", "DenseNetBackbone", {"stackwise_num_repeats": [2, 2], "image_shape": _LARGE}, (210_624, 41_877_504)
)
dinov2 = _vision(
    "dinov2",
    "DINOV2Backbone",
    {**_PATCHES, "intermediate_dim": HIDDEN, "position_embedding_shape": (32, 32)},
    (24_608, 413_824),
    "images",
)
dinov3 = _vision(
    "dinov3", "DINOV3Backbone", {**_PATCHES, "intermediate_dim": HIDDEN}, (23_648, 498_816), "pixel_values"
)
mit = _vision(
    "mit",
    "MiTBackbone",
    {
        "image_shape": _LARGE,
        "num_layers": LAYERS,
        "layerwise_depths": [1, 1],
        "layerwise_num_heads": [1, 2],
        "layerwise_sr_ratios": [2, 1],
        "layerwise_patch_sizes": [7, 3],
        "layerwise_strides": [4, 2],
        "max_drop_path_rate": 0.1,
        "hidden_dims": [16, 32],
    },
    (26_176, 3_444_736),
)
resnet = _vision(
    "resnet",
    "ResNetBackbone",
    {
        "input_conv_filters": [64],
        "input_conv_kernel_sizes": [7],
        "stackwise_num_filters": [64, 128],
        "stackwise_num_blocks": [1, 1],
        "stackwise_num_strides": [1, 2],
        "block_type": "basic_block",
        "image_shape": _LARGE,
    },
    (314_816, 43_188_224),
)
swin = _vision(
    "swin",
    "SwinTransformerBackbone",
    {"image_shape": _LARGE, "embed_dim": 16, "depths": (2, 2), "num_heads": (2, 4), "window_size": 4},
    (35_612, 3_866_624),
)
vgg = _vision(
    "vgg",
    "VGGBackbone",
    {"stackwise_num_repeats": [1, 1], "stackwise_num_filters": [16, 32], "image_shape": _LARGE},
    (5_088, 6_488_064),
)
vit = _vision("vit", "ViTBackbone", {**_PATCHES, "mlp_dim": HIDDEN}, (23_904, 413_824), "images")
vit_det = _vision(
    "vit_det",
    "ViTDetBackbone",
    {
        "image_shape": _SMALL,
        "patch_size": 4,
        "hidden_size": WIDTH,
        "num_layers": LAYERS,
        "num_heads": HEADS,
        "intermediate_dim": HIDDEN,
        "global_attention_layer_indices": [1],
        "num_output_channels": 16,
        "window_size": 4,
    },
    (23_936, 1_703_936),
    "images",
)
xception = _vision(
    "xception",
    "XceptionBackbone",
    {
        "stackwise_conv_filters": [[16, 32], [32, 64], [64, 64]],
        "stackwise_pooling": [True, True, False],
        "image_shape": _LARGE,
    },
    (21_424, 5_840_368),
)
