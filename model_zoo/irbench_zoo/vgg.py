"""Plain deep networks (Simonyan and Zisserman, *Very Deep Convolutional Networks*, ICLR 2015)."""

from __future__ import annotations

from functools import partial

from irbench.spi import ModelSource
from irbench_zoo.applications import build_application
from irbench_zoo.inputs import image

__all__ = ["vgg16"]

vgg16 = ModelSource(
    name="vgg16",
    family="plain CNN",
    summary="16 layers, 138.4 M parameters, three wide dense layers",
    inputs=image(224, -128.0, 128.0),
    build=partial(build_application, "VGG16", 224),
    defaults={},
)
