"""Why irbench's graph is larger or slower than another optimiser's, where that is known."""

from __future__ import annotations

from collections.abc import Mapping

WHY_BEHIND: Mapping[tuple[str, ...], str] = {
    ("resnet50", "mobilenet_v3_small", "efficientnet_b0", "regnet_y_400mf", "densenet121"): (
        "ONNX Runtime joins convolutions with activations in operators of its own, some of a layout of its own. "
        "irbench's levels here keep to operators of ONNX, and ONNX Runtime joins the same nodes when it loads them"
    ),
    (
        "convnext_tiny",
    ): "ONNX Runtime joins a bias with its GELU in Microsoft's BiasGelu. irbench's level `all` also does; "
    "it is not in this table",
    (
        *("bert", "roberta", "distilbert", "albert", "bart_encoder", "clip_vision", "whisper_encoder"),
        *("vit_b_16", "t5_encoder"),
    ): "`ort_fusions` writes Microsoft's Attention, which has the products before it and their biases inside, "
    "SkipLayerNormalization and BiasGelu. irbench's level `all` also does; it is not in this table",
    ("wav2vec2",): (
        "as `dynamo` writes it, irbench fuses no attention with free sizes: lengths behind a convolution are not "
        "computed from those before it, so that the sum of features and of what a convolution makes of them has no "
        "known length"
    ),
}
"""By models; sentences in Markdown, without the point at the end."""
