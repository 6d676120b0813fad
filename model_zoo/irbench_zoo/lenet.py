"""LeNet-5 (LeCun et al., *Gradient-based learning applied to document recognition*, 1998).

As it is built today: every map is connected to all of the layer before, and a softmax gives the classes.
"""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


def build_lenet5() -> Any:
    """Return the classifier of ten digits as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((32, 32, 1), name=IMAGE)
    x = layers.Conv2D(6, 5, activation="tanh", name="conv1")(pixels)
    x = layers.AveragePooling2D(2, name="pool2")(x)
    x = layers.Conv2D(16, 5, activation="tanh", name="conv3")(x)
    x = layers.AveragePooling2D(2, name="pool4")(x)
    x = layers.Conv2D(120, 5, activation="tanh", name="conv5")(x)
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(84, activation="tanh", name="dense6")(x)
    scores = layers.Dense(10, activation="softmax", name="predictions")(x)
    return keras.Model(pixels, scores, name="lenet5")


lenet5 = ModelSource(
    name="lenet5",
    family="plain CNN",
    summary="3 convolutions and 2 dense layers on 32x32 digits",
    inputs=image(32, -0.1, 1.175, channels=1),
    build=build_lenet5,
    defaults={},
    parameters=61_706,
    macs=416_520,
)
