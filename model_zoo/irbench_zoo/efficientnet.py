"""Compound-scaled networks (Tan and Le, *EfficientNet*, ICML 2019)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

__all__ = ["efficientnet_b0"]


def build_efficientnet_b0() -> Any:
    """Return EfficientNet-B0 as an uncompiled ``keras.Model``: 5.3 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    return keras.applications.EfficientNetB0(weights=None, input_tensor=pixels)


efficientnet_b0 = ModelSource(
    name="efficientnet_b0",
    family="depthwise CNN",
    summary="82 layers, 5.3 M parameters, inverted residuals with SiLU and squeeze-and-excitation",
    inputs=image(224, 0.0, 255.0),
    build=build_efficientnet_b0,
    defaults={},
)
