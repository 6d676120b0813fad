"""Residual networks brought up to date with Transformers (Liu et al., *A ConvNet for the 2020s*, CVPR 2022)."""

from __future__ import annotations

from irbench_zoo.applications import Family

__all__ = ["convnext_base", "convnext_large", "convnext_small", "convnext_tiny", "convnext_xlarge"]

_FAMILY = Family("depthwise CNN", "7x7 depthwise convolutions with layer normalisation and GELU", low=0.0, high=255.0)

convnext_tiny = _FAMILY.model("convnext_tiny", "ConvNeXtTiny", 224, layers=59, parameters=28_589_128)
convnext_small = _FAMILY.model("convnext_small", "ConvNeXtSmall", 224, layers=113, parameters=50_223_688)
convnext_base = _FAMILY.model("convnext_base", "ConvNeXtBase", 224, layers=113, parameters=88_591_464)
convnext_large = _FAMILY.model("convnext_large", "ConvNeXtLarge", 224, layers=113, parameters=197_767_336)
convnext_xlarge = _FAMILY.model("convnext_xlarge", "ConvNeXtXLarge", 224, layers=113, parameters=350_196_968)
