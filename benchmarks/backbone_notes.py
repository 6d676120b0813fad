"""What stays in the graphs of some backbones when all is fused, and why."""

from __future__ import annotations

from collections.abc import Mapping

WHAT_STAYS: Mapping[str, str] = {
    "densenet": "every normalisation reads all blocks before it, joined, so no convolution can take it in; the export "
    "has nothing else to fuse: convolutions, activations, and a factor and a sum for each normalisation",
    "gemma2": "its attention: runtimes from before an erratum to ONNX apply a cap on the scores behind the mask "
    "([0013](../../docs/adr/0013-graphs-are-rewritten-by-passes-of-our-own.md))",
    "gpt_oss": "its attention, because ONNX's has no input for the sink beside the scores; and experts, each of which "
    "has operators of its own",
    "resnet": "all of the export: convolutions with what normalises folded in, activations, sums and pooling",
    "vit_det": "two normalisations over channels that stay first, because transpositions for them made OpenVINO slower "
    "([0013](../../docs/adr/0013-graphs-are-rewritten-by-passes-of-our-own.md)); and beside each attention the "
    "products with tables of rows and of columns, between changes of layout",
    "xception": "all of the export: convolutions with what normalises folded in, activations, sums and pooling",
}
"""By the name of the backbone; a part of a sentence, in Markdown."""
