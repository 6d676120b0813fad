"""Small backbones of keras-hub that read text; one of them listens as well."""

from __future__ import annotations

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource
from irbench_zoo.keras_hub_source import SEQUENCE, Settings, source, token_ids

VOCABULARY, WIDTH, HIDDEN, HEADS, KEY_HEADS = 97, 32, 64, 4, 2
LAYERS = 2
POSITIONS = 256
MEL_BANDS = 80

_ENCODER: Settings = {
    "vocabulary_size": VOCABULARY,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "hidden_dim": WIDTH,
    "intermediate_dim": HIDDEN,
}
_WITH_POSITIONS: Settings = {**_ENCODER, "max_sequence_length": POSITIONS}
_GROUPED: Settings = {
    "vocabulary_size": VOCABULARY,
    "num_layers": LAYERS,
    "num_query_heads": HEADS,
    "num_key_value_heads": KEY_HEADS,
    "hidden_dim": WIDTH,
    "intermediate_dim": HIDDEN,
}
_HEADS_OF_8: Settings = {**_GROUPED, "head_dim": 8}
_EXPERTS: Settings = {**_GROUPED, "num_experts": 4, "top_k": 2}

_MASK, _TOKENS = token_ids("padding_mask", 2), token_ids("token_ids", VOCABULARY)
_PLAIN = (_MASK, _TOKENS)
_SEGMENTED = (_MASK, token_ids("segment_ids", 2), _TOKENS)
_DECODED = (token_ids("decoder_padding_mask", 2), token_ids("decoder_token_ids", VOCABULARY))
_TRANSLATED = (*_DECODED, token_ids("encoder_padding_mask", 2), token_ids("encoder_token_ids", VOCABULARY))
_HEARD = (*_DECODED, InputSpec(TensorSpec("encoder_features", "float32", (BATCH, SEQUENCE, MEL_BANDS)), 0.0, 1.0))


def _text(
    name: str,
    constructor: str,
    settings: Settings,
    counts: tuple[int, int],
    inputs: tuple[InputSpec, ...] = _PLAIN,
) -> ModelSource:
    return source(name, constructor, settings, inputs, counts)


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
    {
        "vocabulary_size": VOCABULARY,
        "num_layers": LAYERS,
        "hidden_dim": WIDTH,
        "intermediate_dim": HIDDEN,
        "max_sequence_length": POSITIONS,
    },
    (22_240, 148_480),
    (token_ids("segment_ids", 2), _TOKENS),
)
falcon = _text(
    "falcon",
    "FalconBackbone",
    {
        "vocabulary_size": VOCABULARY,
        "num_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_dim": WIDTH,
        "intermediate_dim": HIDDEN,
    },
    (20_256, 294_912),
)
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
    (token_ids("segment_ids", 2), _TOKENS),
)
smollm3 = _text(
    "smollm3",
    "SmolLM3Backbone",
    {
        "vocabulary_size": VOCABULARY,
        "hidden_dim": WIDTH,
        "intermediate_dim": HIDDEN,
        "num_layers": LAYERS,
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
