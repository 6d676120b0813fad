"""Small backbones of the keras-hub package, with random weights: ``module:function`` for ``irbench export``.

``irbench export benchmarks.keras_hub_backbones:bert`` exports one of them, and
``python -m benchmarks.keras_hub_backbones FOLDER`` many in one process. Nothing is downloaded.
"""

from __future__ import annotations

import fnmatch
import shutil
import tempfile
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

__all__ = ["BACKBONES", "build", "main"]

Settings = Mapping[str, Any]

_OPSET, _SEED, _NOISE = 18, 0, 0.05
_LAYERS, _HEADS, _WIDTH, _HIDDEN, _WORDS, _LENGTH = 2, 4, 32, 64, 97, 256

_ENCODER: Settings = {
    "vocabulary_size": _WORDS,
    "num_layers": _LAYERS,
    "num_heads": _HEADS,
    "hidden_dim": _WIDTH,
    "intermediate_dim": _HIDDEN,
}
_POSITIONS: Settings = {**_ENCODER, "max_sequence_length": _LENGTH}
_GROUPED: Settings = {
    "vocabulary_size": _WORDS,
    "num_layers": _LAYERS,
    "num_query_heads": _HEADS,
    "num_key_value_heads": 2,
    "hidden_dim": _WIDTH,
    "intermediate_dim": _HIDDEN,
}
_EXPERTS: Settings = {**_GROUPED, "num_experts": 4, "top_k": 2}
_GEMMA: Settings = {**_GROUPED, "head_dim": 8}
_IMAGE: Settings = {"image_shape": (32, 32, 3)}
_VISION: Settings = {**_IMAGE, "patch_size": 8, "num_layers": _LAYERS, "num_heads": _HEADS, "hidden_dim": _WIDTH}
_STAGES: Settings = {
    "image_shape": (64, 64, 3),
    "num_layers": 2,
    "layerwise_depths": [1, 1],
    "layerwise_num_heads": [1, 2],
    "layerwise_sr_ratios": [2, 1],
    "layerwise_patch_sizes": [7, 3],
    "layerwise_strides": [4, 2],
    "max_drop_path_rate": 0.1,
    "hidden_dims": [16, 32],
}

BACKBONES: Mapping[str, tuple[str, Settings]] = {
    "albert": ("AlbertBackbone", {**_POSITIONS, "embedding_dim": 16}),
    "bart": ("BartBackbone", _POSITIONS),
    "bert": ("BertBackbone", _POSITIONS),
    "bloom": ("BloomBackbone", _ENCODER),
    "deberta_v3": ("DebertaV3Backbone", {**_POSITIONS, "bucket_size": 32}),
    "deit": ("DeiTBackbone", {**_VISION, "intermediate_dim": _HIDDEN}),
    "densenet": ("DenseNetBackbone", {"stackwise_num_repeats": [2, 2], "image_shape": (64, 64, 3)}),
    "dinov2": (
        "DINOV2Backbone",
        {**_VISION, "intermediate_dim": _HIDDEN, "position_embedding_shape": (32, 32)},
    ),
    "distil_bert": ("DistilBertBackbone", _POSITIONS),
    "electra": ("ElectraBackbone", {"vocab_size": _WORDS, "embedding_dim": 16, **_POSITIONS}),
    "esm": ("ESM2Backbone", _ENCODER),
    "f_net": ("FNetBackbone", _POSITIONS),
    "falcon": ("FalconBackbone", {**_ENCODER, "num_attention_heads": _HEADS}),
    "gemma": ("GemmaBackbone", _GEMMA),
    "gemma2": (
        "GemmaBackbone",
        {
            **_GEMMA,
            "attention_logit_soft_cap": 50.0,
            "final_logit_soft_cap": 30.0,
            "use_sliding_window_attention": True,
            "sliding_window_size": 8,
            "use_post_ffw_norm": True,
            "use_post_attention_norm": True,
        },
    ),
    "gemma3": (
        "Gemma3Backbone",
        {**_GEMMA, "image_size": 32, "use_sliding_window_attention": True, "sliding_window_size": 8},
    ),
    "gpt2": ("GPT2Backbone", _POSITIONS),
    "gpt_neo_x": ("GPTNeoXBackbone", _POSITIONS),
    "gpt_oss": ("GptOssBackbone", {**_EXPERTS, "sliding_window": 8}),
    "llama": ("LlamaBackbone", _GROUPED),
    "llama3": ("Llama3Backbone", _GROUPED),
    "mistral": ("MistralBackbone", {**_GROUPED, "sliding_window": 8}),
    "mit": ("MiTBackbone", _STAGES),
    "mixtral": ("MixtralBackbone", {**_EXPERTS, "sliding_window": 8}),
    "opt": ("OPTBackbone", _POSITIONS),
    "phi3": ("Phi3Backbone", {**_GROUPED, "max_sequence_length": _LENGTH}),
    "qwen": ("QwenBackbone", _GROUPED),
    "qwen3": ("Qwen3Backbone", _GEMMA),
    "qwen3_moe": ("Qwen3MoeBackbone", {**_EXPERTS, "moe_intermediate_dim": 16, "head_dim": 8}),
    "qwen_moe": (
        "QwenMoeBackbone",
        {**_EXPERTS, "moe_intermediate_dim": 16, "shared_expert_intermediate_dim": 16},
    ),
    "resnet": (
        "ResNetBackbone",
        {
            "input_conv_filters": [64],
            "input_conv_kernel_sizes": [7],
            "stackwise_num_filters": [64, 128],
            "stackwise_num_blocks": [1, 1],
            "stackwise_num_strides": [1, 2],
            "block_type": "basic_block",
            "image_shape": (64, 64, 3),
        },
    ),
    "roberta": ("RobertaBackbone", _POSITIONS),
    "roformer_v2": ("RoformerV2Backbone", {**_ENCODER, "head_size": 8}),
    "smollm3": (
        "SmolLM3Backbone",
        {
            "vocabulary_size": _WORDS,
            "hidden_dim": _WIDTH,
            "intermediate_dim": _HIDDEN,
            "num_layers": _LAYERS,
            "num_attention_heads": _HEADS,
            "num_key_value_heads": 2,
            "attention_bias": False,
            "attention_dropout": 0.0,
            "rope_layer_enabled_list": [True, False],
            "layer_types": ["attention"] * _LAYERS,
            "mlp_bias": False,
            "layer_norm_epsilon": 1e-5,
            "max_position_embeddings": _LENGTH,
            "rope_theta": 10000.0,
            "partial_rotary_factor": 1.0,
        },
    ),
    "swin": (
        "SwinTransformerBackbone",
        {"image_shape": (64, 64, 3), "embed_dim": 16, "depths": (2, 2), "num_heads": (2, 4), "window_size": 4},
    ),
    "t5": ("T5Backbone", _ENCODER),
    "vit": ("ViTBackbone", {**_VISION, "mlp_dim": _HIDDEN}),
    "vit_det": (
        "ViTDetBackbone",
        {
            **_IMAGE,
            "patch_size": 4,
            "hidden_size": _WIDTH,
            "num_layers": _LAYERS,
            "num_heads": _HEADS,
            "intermediate_dim": _HIDDEN,
            "global_attention_layer_indices": [1],
            "num_output_channels": 16,
            "window_size": 4,
        },
    ),
    "whisper": (
        "WhisperBackbone",
        {**_ENCODER, "max_encoder_sequence_length": _LENGTH, "max_decoder_sequence_length": _LENGTH},
    ),
    "xlm_roberta": ("XLMRobertaBackbone", _POSITIONS),
    "xlnet": ("XLNetBackbone", _ENCODER),
}
"""By the names that they are exported under: the class in ``keras_hub.models`` and its arguments.

Two layers are enough to show what is shared between layers and what is repeated in each.
"""


def build(name: str) -> Any:
    """Return a backbone as an uncompiled ``keras.Model`` with random weights, the same ones every time.

    No bias is zero and no scale one: they would be folded away, and a fusion that forgot them would pass.

    Args:
        name: One of :data:`BACKBONES`.

    Raises:
        KeyError: There is no such backbone.
    """
    import inspect

    import keras
    import keras_hub
    import numpy as np

    keras.utils.set_random_seed(_SEED)
    kind, settings = BACKBONES[name]
    backbone = getattr(keras_hub.models, kind)
    taken = inspect.signature(backbone.__init__).parameters
    model = backbone(**{key: value for key, value in settings.items() if key in taken or "shape" in key}, name=name)
    generator = np.random.default_rng(_SEED)
    for variable in model.weights:
        if "float" in variable.dtype:
            variable.assign(variable + generator.normal(scale=_NOISE, size=variable.shape))
    return model


def __getattr__(name: str) -> Callable[[], Any]:
    """Offer ``module:NAME`` for every backbone."""
    if name not in BACKBONES:
        raise AttributeError(name)
    return partial(build, name)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--only", multiple=True, metavar="PATTERN", help="Names such as 'gemma*'; may be repeated.")
def main(folder: Path, only: tuple[str, ...]) -> None:
    """Write NAME.onnx of every backbone into FOLDER; those that are there stay. Exits with 1 where one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in BACKBONES if not only or any(fnmatch.fnmatch(name, pattern) for pattern in only)]
    failed = [name for name in chosen if not (folder / f"{name}.onnx").exists() and not _exported(name, folder)]
    raise SystemExit(1 if failed else 0)


def _exported(name: str, folder: Path) -> bool:
    from irbench.spi import ExportRequest
    from irbench_tf.exporter import exporter

    with tempfile.TemporaryDirectory() as scratch:
        request = ExportRequest(f"{__spec__.name}:{name}", Path(scratch), _OPSET, None, _SEED, None, "keep")
        try:
            exporter.export(request, lambda _: None)
        except Exception as error:  # noqa: BLE001 - each model fails in a way of its own, and the others go on
            click.echo(f"{name}: {error}", err=True)
            traceback.print_exc()
            return False
        shutil.copyfile(Path(scratch) / "model.onnx", folder / f"{name}.onnx.part")
        (folder / f"{name}.onnx.part").rename(folder / f"{name}.onnx")
    click.echo(name, err=True)
    return True


if __name__ == "__main__":
    main()
