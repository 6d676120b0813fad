"""Densely connected networks (Huang et al., *Densely Connected Convolutional Networks*, CVPR 2017)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

__all__ = ["densenet121"]


def build_densenet121() -> Any:
    """Return DenseNet-121 as an uncompiled ``keras.Model``: 8.1 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    return keras.applications.DenseNet121(weights=None, input_tensor=pixels)


densenet121 = ModelSource(
    name="densenet121",
    family="dense CNN",
    summary="121 layers, 8.1 M parameters, every layer feeds all later ones of its block",
    inputs=image(224, -2.0, 2.0),
    build=build_densenet121,
    defaults={},
)
