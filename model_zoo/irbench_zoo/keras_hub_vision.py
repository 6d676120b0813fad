"""Small backbones of keras-hub that take images."""

from __future__ import annotations

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource
from irbench_zoo.keras_hub_source import Settings, source

WIDTH, HIDDEN, HEADS = 32, 64, 4
LAYERS = 2

_SMALL, _LARGE = (32, 32, 3), (64, 64, 3)
_PATCHES: Settings = {
    "image_shape": _SMALL,
    "patch_size": 8,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "hidden_dim": WIDTH,
}


def _vision(
    name: str, constructor: str, settings: Settings, counts: tuple[int, int], image: str = "image"
) -> ModelSource:
    """Return a backbone.

    Args:
        name: Its name.
        constructor: Its class in ``keras_hub.models``.
        settings: What it is called with.
        counts: Its parameters and multiply-accumulates.
        image: What the model calls its input, where it names it.
    """
    shape: tuple[int, int, int] = settings["image_shape"]
    pixels = InputSpec(TensorSpec(image, "float32", (BATCH, *shape)), 0.0, 1.0)
    return source(name, constructor, settings, (pixels,), counts)


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
