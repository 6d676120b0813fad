"""Networks of depthwise separable convolutions (Sandler et al., *MobileNetV2*, CVPR 2018)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

__all__ = ["mobilenet_v2"]


def build_mobilenet_v2() -> Any:
    """Return MobileNetV2 as an uncompiled ``keras.Model``: 3.5 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    return keras.applications.MobileNetV2(weights=None, input_tensor=pixels)


mobilenet_v2 = ModelSource(
    name="mobilenet_v2",
    family="depthwise CNN",
    summary="53 layers, 3.5 M parameters, inverted residuals with ReLU6",
    inputs=image(224, -1.0, 1.0),
    build=build_mobilenet_v2,
    defaults={},
)
