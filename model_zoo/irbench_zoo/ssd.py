"""Single-shot detection (Liu et al., *SSD*, ECCV 2016) on MobileNet (Howard et al., *MobileNets*, 2017).

Further maps and 1x1 heads are those of Huang et al., *Speed/accuracy trade-offs for convolutional object detectors*,
CVPR 2017. Suppression of overlapping boxes is left out.
"""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

SIZE = 300
CLASSES = 91
# Channels and strides of MobileNet's depthwise separable convolutions.
SEPARABLE = (*((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)), *((512, 1),) * 5, *((1024, 2), (1024, 1)))
# Channels of the two convolutions before each further map.
FURTHER = ((256, 512), (128, 256), (128, 256), (64, 128))
ANCHORS = (3, 6, 6, 6, 6, 6)


def _build_ssd_mobilenet() -> Any:
    """Return the detector of 1,917 anchors as an uncompiled ``keras.Model``.

    Images of shape ``(batch, 300, 300, 3)`` give box offsets of shape ``(batch, 1917, 4)`` and a score of each of the
    91 classes of COCO, ``(batch, 1917, 91)``.
    """
    import keras
    from keras import layers

    pixels = keras.Input((SIZE, SIZE, 3), name=IMAGE)
    maps = _backbone(pixels)
    for position, (narrow, wide) in enumerate(FURTHER):
        x = _convolution(maps[-1], narrow, 1, 1, f"further{position + 1}_narrow")
        maps.append(_convolution(x, wide, 3, 2, f"further{position + 1}_wide"))
    boxes = [_head(map_, anchors, 4, "boxes") for map_, anchors in zip(maps, ANCHORS, strict=True)]
    scores = [_head(map_, anchors, CLASSES, "scores") for map_, anchors in zip(maps, ANCHORS, strict=True)]
    outputs = [
        layers.Concatenate(axis=1, name="boxes")(boxes),
        layers.Activation("sigmoid", name="scores")(layers.Concatenate(axis=1, name="logits")(scores)),
    ]
    return keras.Model(pixels, outputs, name="ssd_mobilenet")


def _backbone(pixels: Any) -> list[Any]:
    """Return the two deepest maps of MobileNet, 19x19x512 and 10x10x1024."""
    from keras import layers

    x = _convolution(pixels, 32, 3, 2, "conv1")
    maps: list[Any] = []
    for position, (channels, stride) in enumerate(SEPARABLE):
        if stride == 2:
            maps.append(x)
        name = f"separable{position + 1}"
        x = layers.DepthwiseConv2D(3, stride, padding="same", use_bias=False, name=f"{name}_depth")(x)
        x = _convolution(_activated(x, f"{name}_depth"), channels, 1, 1, f"{name}_point")
    return [maps[-1], x]


def _convolution(x: Any, channels: int, size: int, stride: int, name: str) -> Any:
    from keras import layers

    x = layers.Conv2D(channels, size, stride, padding="same", use_bias=False, name=name)(x)
    return _activated(x, name)


def _activated(x: Any, name: str) -> Any:
    from keras import layers

    return layers.ReLU(6.0, name=f"{name}_relu")(layers.BatchNormalization(name=f"{name}_norm")(x))


def _head(x: Any, anchors: int, values: int, name: str) -> Any:
    from keras import layers

    height, width = x.shape[1:3]
    x = layers.Conv2D(anchors * values, 1, name=f"{name}{height}")(x)
    return layers.Reshape((height * width * anchors, values), name=f"{name}{height}_list")(x)


ssd_mobilenet = ModelSource(
    name="ssd_mobilenet",
    family="detector",
    summary="six maps of features with boxes and 91 class scores for 1,917 anchors at 300x300",
    inputs=image(SIZE, -1.0, 1.0),
    build=_build_ssd_mobilenet,
    classifier=False,
    parameters=6_845_183,
    macs=1_237_129_408,
)
