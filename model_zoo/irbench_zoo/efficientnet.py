"""Compound-scaled networks (Tan and Le, *EfficientNet*, ICML 2019)."""

from __future__ import annotations

from functools import partial

from irbench.spi import ModelSource
from irbench_zoo.applications import build_application
from irbench_zoo.inputs import image

__all__ = ["efficientnet_b0"]

efficientnet_b0 = ModelSource(
    name="efficientnet_b0",
    family="depthwise CNN",
    summary="82 layers, 5.3 M parameters, inverted residuals with SiLU and squeeze-and-excitation",
    inputs=image(224, 0.0, 255.0),
    build=partial(build_application, "EfficientNetB0", 224),
    defaults={},
)
