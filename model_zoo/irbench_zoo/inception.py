"""Inception networks (Szegedy et al., *Rethinking the Inception Architecture*, CVPR 2016)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

__all__ = ["inception_v3"]


def build_inception_v3() -> Any:
    """Return Inception v3 as an uncompiled ``keras.Model``: 23.9 M parameters, 1000 classes."""
    import keras

    pixels = keras.Input((299, 299, 3), name=IMAGE)
    return keras.applications.InceptionV3(weights=None, input_tensor=pixels)


inception_v3 = ModelSource(
    name="inception_v3",
    family="branching CNN",
    summary="48 layers, 23.9 M parameters, parallel branches with factorised convolutions",
    inputs=image(299, -1.0, 1.0),
    build=build_inception_v3,
    defaults={},
)
