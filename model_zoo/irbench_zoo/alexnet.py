"""AlexNet, in the single-column form of Krizhevsky, *One weird trick for parallelizing CNNs*, 2014.

The network of 2012 splits its convolutions into two groups for two GPUs; one column is what runs today.
"""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


def build_alexnet() -> Any:
    """Return AlexNet as an uncompiled ``keras.Model``, for 1000 classes."""
    import keras
    from keras import layers

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    x = layers.ZeroPadding2D(2)(pixels)
    x = layers.Conv2D(64, 11, strides=4, activation="relu", name="conv1")(x)
    x = layers.MaxPooling2D(3, 2, name="pool1")(x)
    x = layers.Conv2D(192, 5, padding="same", activation="relu", name="conv2")(x)
    x = layers.MaxPooling2D(3, 2, name="pool2")(x)
    x = layers.Conv2D(384, 3, padding="same", activation="relu", name="conv3")(x)
    x = layers.Conv2D(256, 3, padding="same", activation="relu", name="conv4")(x)
    x = layers.Conv2D(256, 3, padding="same", activation="relu", name="conv5")(x)
    x = layers.MaxPooling2D(3, 2, name="pool5")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(4096, activation="relu", name="fc6")(x)
    x = layers.Dense(4096, activation="relu", name="fc7")(x)
    scores = layers.Dense(1000, activation="softmax", name="predictions")(x)
    return keras.Model(pixels, scores, name="alexnet")


alexnet = ModelSource(
    name="alexnet",
    family="plain CNN",
    summary="8 layers, five convolutions and three wide dense layers",
    inputs=image(224, -2.0, 2.0),
    build=build_alexnet,
    defaults={},
    parameters=61_100_840,
    macs=714_188_480,
)
