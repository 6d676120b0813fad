"""Residual networks brought up to date with Transformers (Liu et al., *A ConvNet for the 2020s*, CVPR 2022)."""

from __future__ import annotations

from irbench_zoo.applications import Family

_FAMILY = Family("depthwise CNN", "7x7 depthwise convolutions with layer normalisation and GELU", low=0.0, high=255.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
convnext_tiny = _FAMILY.model("convnext_tiny", "ConvNeXtTiny", 224, 59, 28_589_128, 4_455_531_264)
convnext_small = _FAMILY.model("convnext_small", "ConvNeXtSmall", 224, 113, 50_223_688, 8_683_712_256)
convnext_base = _FAMILY.model("convnext_base", "ConvNeXtBase", 224, 113, 88_591_464, 15_354_729_472)
convnext_large = _FAMILY.model("convnext_large", "ConvNeXtLarge", 224, 113, 197_767_336, 34_361_433_600)
convnext_xlarge = _FAMILY.model("convnext_xlarge", "ConvNeXtXLarge", 224, 113, 350_196_968, 60_921_030_656)
