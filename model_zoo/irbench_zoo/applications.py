"""Image classifiers that Keras itself ships, built without trained weights."""

from __future__ import annotations

from typing import Any

from irbench_zoo.inputs import IMAGE

__all__ = ["build_application"]


def build_application(constructor: str, size: int) -> Any:
    """Return the classifier of 1000 classes as an uncompiled ``keras.Model``; imports Keras.

    Args:
        constructor: Its name in ``keras.applications``.
        size: Height and width of its three-channel input.
    """
    import keras

    pixels = keras.Input((size, size, 3), name=IMAGE)
    return getattr(keras.applications, constructor)(weights=None, input_tensor=pixels)
