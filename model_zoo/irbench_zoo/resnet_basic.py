"""Residual networks of basic blocks (He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016)."""

from __future__ import annotations

from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


def _build_resnet(depths: tuple[int, ...], name: str) -> Any:
    """Return the classifier of 1000 classes as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((224, 224, 3), name=IMAGE)
    x = layers.ZeroPadding2D(3, name="pad1")(pixels)
    x = _convolution(x, 64, 7, 2, "conv1", padding="valid")
    x = layers.ReLU(name="conv1_relu")(x)
    x = layers.MaxPooling2D(3, 2, padding="same", name="pool1")(x)
    for stage, depth in enumerate(depths):
        for position in range(depth):
            stride = 2 if stage and not position else 1
            x = _block(x, 64 * 2**stage, stride, f"stage{stage + 1}_block{position + 1}")
    x = layers.GlobalAveragePooling2D(name="pool2")(x)
    scores = layers.Dense(1000, activation="softmax", name="predictions")(x)
    return keras.Model(pixels, scores, name=name)


def _block(x: Any, channels: int, stride: int, name: str) -> Any:
    from keras import layers

    shortcut = x if stride == 1 else _convolution(x, channels, 1, stride, f"{name}_shortcut")
    x = layers.ReLU(name=f"{name}_relu1")(_convolution(x, channels, 3, stride, f"{name}_conv1"))
    x = layers.add([shortcut, _convolution(x, channels, 3, 1, f"{name}_conv2")], name=f"{name}_add")
    return layers.ReLU(name=f"{name}_relu2")(x)


def _convolution(x: Any, channels: int, size: int, stride: int, name: str, padding: str = "same") -> Any:
    from keras import layers

    x = layers.Conv2D(channels, size, stride, padding=padding, use_bias=False, name=name)(x)
    return layers.BatchNormalization(epsilon=1e-5, name=f"{name}_norm")(x)


def _source(name: str, depths: tuple[int, ...], parameters: int, macs: int) -> ModelSource:
    return ModelSource(
        name=name,
        family="residual CNN",
        summary=f"{2 * sum(depths) + 2} layers, basic blocks with batch normalisation",
        inputs=image(224, -2.0, 2.0),
        build=partial(_build_resnet, depths, name),
        parameters=parameters,
        macs=macs,
    )


resnet18 = _source("resnet18", (2, 2, 2, 2), 11_699_112, 1_814_073_344)
resnet34 = _source("resnet34", (3, 4, 6, 3), 21_814_696, 3_663_761_408)
