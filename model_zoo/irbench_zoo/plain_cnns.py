"""Small and early convolutional networks."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


def _build_lenet5() -> Any:
    """Return the classifier of ten digits as an uncompiled ``keras.Model``.

    LeNet-5 (LeCun et al., *Gradient-based learning applied to document recognition*, 1998).
    As it is built today: every map is connected to all of the layer before, and a softmax gives the classes.
    """
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
    build=_build_lenet5,
    parameters=61_706,
    macs=416_520,
)


def _build_cnn_cifar10() -> Any:
    """Return the network as an uncompiled ``keras.Model``, for 10 classes.

    A small convolutional network for 32x32 images: quick to build, export and run.
    """
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
    build=_build_cnn_cifar10,
    parameters=122_570,
    macs=4_548_608,
)


def _build_alexnet() -> Any:
    """Return AlexNet as an uncompiled ``keras.Model``, for 1000 classes.

    AlexNet, in the single-column form of Krizhevsky, *One weird trick for parallelizing CNNs*, 2014.
    The network of 2012 splits its convolutions into two groups for two GPUs; one column is what runs today.
    """
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
    build=_build_alexnet,
    parameters=61_100_840,
    macs=714_188_480,
)


# Channels that a fire module squeezes to, and that each of its two expansions gives; None is a pooling.
FIRES = ((16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256))


def _build_squeezenet() -> Any:
    """Return SqueezeNet 1.0, a classifier of 1000 classes, as an uncompiled ``keras.Model``.

    SqueezeNet 1.0 (Iandola et al., *AlexNet-level accuracy with 50x fewer parameters*, 2016).
    """
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
    build=_build_squeezenet,
    parameters=1_248_424,
    macs=832_667_936,
)
