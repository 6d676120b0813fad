"""Segmentation by a contracting and an expanding path (Ronneberger et al., *U-Net*, MICCAI 2015)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

SIZE = 256
CHANNELS = (64, 128, 256, 512)
DEEPEST = 1024


def _build_unet() -> Any:
    """Return the network, padded so that sizes stay, as an uncompiled ``keras.Model``.

    Grey images of shape ``(batch, 256, 256, 1)`` give probabilities of two classes, ``(batch, 256, 256, 2)``.
    """
    import keras
    from keras import layers

    pixels = keras.Input((SIZE, SIZE, 1), name=IMAGE)
    x, skipped = pixels, []
    for channels in CHANNELS:
        skipped.append(_twice(x, channels, f"down{channels}"))
        x = layers.MaxPooling2D(name=f"down{channels}_pool")(skipped[-1])
    x = _twice(x, DEEPEST, "bottom")
    for channels, skip in zip(CHANNELS[::-1], skipped[::-1], strict=True):
        x = layers.Conv2DTranspose(channels, 2, 2, name=f"up{channels}_grow")(x)
        x = _twice(layers.concatenate([skip, x], name=f"up{channels}_join"), channels, f"up{channels}")
    return keras.Model(pixels, layers.Conv2D(2, 1, activation="softmax", name="predictions")(x), name="unet")


def _twice(x: Any, channels: int, name: str) -> Any:
    from keras import layers

    for position in (1, 2):
        x = layers.Conv2D(channels, 3, padding="same", activation="relu", name=f"{name}_conv{position}")(x)
    return x


unet = ModelSource(
    name="unet",
    family="segmentation CNN",
    summary="23 convolutions, transposed convolutions and skip connections at 256x256",
    inputs=image(SIZE, 0.0, 1.0, channels=1),
    build=_build_unet,
    parameters=31_030_658,
    macs=48_096_083_968,
)
