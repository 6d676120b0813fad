"""SqueezeNet 1.0 (Iandola et al., *AlexNet-level accuracy with 50x fewer parameters*, 2016)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

# Channels that a fire module squeezes to, and that each of its two expansions gives; None is a pooling.
FIRES = ((16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256))


def build_squeezenet() -> Any:
    """Return SqueezeNet 1.0, a classifier of 1000 classes, as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((227, 227, 3), name=IMAGE)
    x = layers.Conv2D(96, 7, 2, activation="relu", name="conv1")(pixels)
    x = layers.MaxPooling2D(3, 2, name="pool1")(x)
    for position, fire in enumerate(FIRES):
        x = layers.MaxPooling2D(3, 2)(x) if fire is None else _fire(x, *fire, f"fire{position + 2}")
    x = layers.Conv2D(1000, 1, name="conv10")(x)
    x = layers.GlobalAveragePooling2D(name="pool10")(x)
    return keras.Model(pixels, layers.Softmax(name="predictions")(x), name="squeezenet")


def _fire(x: Any, squeezed: int, expanded: int, name: str) -> Any:
    from keras import layers

    x = layers.Conv2D(squeezed, 1, activation="relu", name=f"{name}_squeeze")(x)
    branches = [
        layers.Conv2D(expanded, size, padding="same", activation="relu", name=f"{name}_expand{size}")(x)
        for size in (1, 3)
    ]
    return layers.concatenate(branches, name=f"{name}_join")


squeezenet = ModelSource(
    name="squeezenet",
    family="branching CNN",
    summary="18 layers, fire modules that squeeze channels and expand them again",
    inputs=image(227, -2.0, 2.0),
    build=build_squeezenet,
    defaults={},
    parameters=1_248_424,
    macs=832_667_936,
)
