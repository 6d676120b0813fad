"""A small convolutional network for 32x32 images: quick to build, export and run."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


def build_cnn_cifar10() -> Any:
    """Return the network as an uncompiled ``keras.Model``, for 10 classes."""
    import keras
    from keras import layers

    pixels = keras.Input((32, 32, 3), name=IMAGE)
    x = layers.Conv2D(32, 3, activation="relu", name="conv1")(pixels)
    x = layers.MaxPooling2D(name="pool1")(x)
    x = layers.Conv2D(64, 3, activation="relu", name="conv2")(x)
    x = layers.MaxPooling2D(name="pool2")(x)
    x = layers.Conv2D(64, 3, activation="relu", name="conv3")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(64, activation="relu", name="dense1")(x)
    scores = layers.Dense(10, activation="softmax", name="predictions")(x)
    return keras.Model(pixels, scores, name="cnn_cifar10")


cnn_cifar10 = ModelSource(
    name="cnn_cifar10",
    family="plain CNN",
    summary="3 convolutions, 2 poolings and 2 dense layers on 32x32 images",
    inputs=image(32, 0.0, 1.0),
    build=build_cnn_cifar10,
    defaults={},
    parameters=122_570,
    macs=4_548_608,
)
