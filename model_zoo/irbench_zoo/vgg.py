"""Plain deep networks (Simonyan and Zisserman, *Very Deep Convolutional Networks*, ICLR 2015)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

__all__ = ["vgg16"]


def build_vgg16() -> Any:
    """Return VGG-16 as an uncompiled ``keras.Model``: 138.4 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    return keras.applications.VGG16(weights=None, input_tensor=pixels)


vgg16 = ModelSource(
    name="vgg16",
    family="plain CNN",
    summary="16 layers, 138.4 M parameters, three wide dense layers",
    inputs=image(224, -128.0, 128.0),
    build=build_vgg16,
    defaults={},
)
