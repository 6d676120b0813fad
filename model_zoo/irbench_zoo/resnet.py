"""Residual networks (He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

__all__ = ["resnet50", "resnet152"]

FAMILY = "residual CNN"
# Channel means subtracted from 0..255 leave about this range.
INPUTS = image(224, -128.0, 128.0)


def build_resnet50() -> Any:
    """Return ResNet-50 as an uncompiled ``keras.Model``: 25.6 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    return keras.applications.ResNet50(weights=None, input_tensor=pixels)


def build_resnet152() -> Any:
    """Return ResNet-152 as an uncompiled ``keras.Model``: 60.4 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    return keras.applications.ResNet152(weights=None, input_tensor=pixels)


resnet50 = ModelSource(
    name="resnet50",
    family=FAMILY,
    summary="50 layers, 25.6 M parameters, bottleneck blocks with batch normalisation",
    inputs=INPUTS,
    build=build_resnet50,
    defaults={},
)
resnet152 = ModelSource(
    name="resnet152",
    family=FAMILY,
    summary="152 layers, 60.4 M parameters, bottleneck blocks with batch normalisation",
    inputs=INPUTS,
    build=build_resnet152,
    defaults={},
)
