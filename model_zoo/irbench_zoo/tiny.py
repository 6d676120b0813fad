"""The four networks of MLPerf Tiny (Banbury et al., *MLPerf Tiny Benchmark*, NeurIPS Datasets and Benchmarks 2021)."""

from __future__ import annotations

from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

FEATURES = "features"
# Channels and strides of MobileNet's depthwise separable convolutions at a quarter of its width.
SEPARABLE = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *((128, 1),) * 5, (256, 2), (256, 1))


def _build_resnet8_cifar10() -> Any:
    """Return the classifier of ten classes as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((32, 32, 3), name=IMAGE)
    x = _activated(layers.Conv2D(16, 3, padding="same", name="conv1")(pixels), "conv1")
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        name = f"block{channels}"
        y = layers.Conv2D(channels, 3, stride, padding="same", name=f"{name}_conv1")(x)
        y = _activated(y, f"{name}_conv1")
        y = layers.Conv2D(channels, 3, padding="same", name=f"{name}_conv2")(y)
        y = layers.BatchNormalization(name=f"{name}_conv2_norm")(y)
        if stride > 1:
            x = layers.Conv2D(channels, 1, stride, padding="same", name=f"{name}_shortcut")(x)
        x = layers.ReLU(name=f"{name}_relu")(layers.add([x, y], name=f"{name}_add"))
    return _classified(pixels, x, 10, "resnet8_cifar10")


def _build_ds_cnn_kws() -> Any:
    """Return the classifier of twelve spoken words as an uncompiled ``keras.Model``.

    Sound is 49 frames of 10 coefficients, ``(batch, 49, 10, 1)``.
    """
    import keras
    from keras import layers

    features = keras.Input((49, 10, 1), name=FEATURES)
    x = _activated(layers.Conv2D(64, (10, 4), 2, padding="same", name="conv1")(features), "conv1")
    for position in range(4):
        x = _separable(x, 64, 1, f"block{position + 1}")
    return _classified(features, x, 12, "ds_cnn_kws")


def _build_mobilenet_v1_025_vww() -> Any:
    """Return the classifier of images with and without a person as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((96, 96, 3), name=IMAGE)
    x = _activated(layers.Conv2D(8, 3, 2, padding="same", name="conv1")(pixels), "conv1")
    for position, (channels, stride) in enumerate(SEPARABLE):
        x = _separable(x, channels, stride, f"block{position + 1}")
    return _classified(pixels, x, 2, "mobilenet_v1_025_vww")


def _build_autoencoder_ad() -> Any:
    """Return the autoencoder, five frames of 128 mel bands through 8 values, as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    features = keras.Input((640,), name=FEATURES)
    x = features
    for position, width in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128)):
        x = _activated(layers.Dense(width, name=f"dense{position + 1}")(x), f"dense{position + 1}")
    return keras.Model(features, layers.Dense(640, name="reconstruction")(x), name="autoencoder_ad")


def _activated(x: Any, name: str) -> Any:
    from keras import layers

    return layers.ReLU(name=f"{name}_relu")(layers.BatchNormalization(name=f"{name}_norm")(x))


def _separable(x: Any, channels: int, stride: int, name: str) -> Any:
    from keras import layers

    x = _activated(layers.DepthwiseConv2D(3, stride, padding="same", name=f"{name}_depth")(x), f"{name}_depth")
    return _activated(layers.Conv2D(channels, 1, name=f"{name}_point")(x), f"{name}_point")


def _classified(source: Any, x: Any, classes: int, name: str) -> Any:
    import keras
    from keras import layers

    x = layers.AveragePooling2D(x.shape[1:3], name="pool")(x)
    scores = layers.Dense(classes, activation="softmax", name="predictions")(layers.Flatten(name="flatten")(x))
    return keras.Model(source, scores, name=name)


resnet8_cifar10 = ModelSource(
    name="resnet8_cifar10",
    family="residual CNN",
    summary="8 layers on 32x32 images, image classification of MLPerf Tiny",
    inputs=image(32, 0.0, 255.0),
    build=_build_resnet8_cifar10,
    parameters=78_666,
    macs=12_501_632,
)
ds_cnn_kws = ModelSource(
    name="ds_cnn_kws",
    family="depthwise CNN",
    summary="10 layers on 49x10 coefficients of sound, keyword spotting of MLPerf Tiny",
    inputs=(InputSpec(TensorSpec(FEATURES, "float32", (BATCH, 49, 10, 1)), -1.0, 1.0),),
    build=_build_ds_cnn_kws,
    parameters=24_908,
    macs=2_656_768,
)
mobilenet_v1_025_vww = ModelSource(
    name="mobilenet_v1_025_vww",
    family="depthwise CNN",
    summary="28 layers on 96x96 images, person detection of MLPerf Tiny",
    inputs=image(96, -1.0, 1.0),
    build=_build_mobilenet_v1_025_vww,
    parameters=221_794,
    macs=7_489_664,
)
autoencoder_ad = ModelSource(
    name="autoencoder_ad",
    family="autoencoder",
    summary="10 dense layers on 640 mel energies, anomaly detection of MLPerf Tiny",
    inputs=(InputSpec(TensorSpec(FEATURES, "float32", (BATCH, 640)), -1.0, 1.0),),
    build=_build_autoencoder_ad,
    classifier=False,
    parameters=269_992,
    macs=264_192,
)
