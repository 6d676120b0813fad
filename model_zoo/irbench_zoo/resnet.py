"""Residual networks (He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016)."""

from __future__ import annotations

from functools import partial

from irbench.spi import ModelSource
from irbench_zoo.applications import build_application
from irbench_zoo.inputs import image

__all__ = ["resnet50", "resnet152"]

FAMILY = "residual CNN"
# Channel means subtracted from 0..255 leave about this range.
INPUTS = image(224, -128.0, 128.0)

resnet50 = ModelSource(
    name="resnet50",
    family=FAMILY,
    summary="50 layers, 25.6 M parameters, bottleneck blocks with batch normalisation",
    inputs=INPUTS,
    build=partial(build_application, "ResNet50", 224),
    defaults={},
)
resnet152 = ModelSource(
    name="resnet152",
    family=FAMILY,
    summary="152 layers, 60.4 M parameters, bottleneck blocks with batch normalisation",
    inputs=INPUTS,
    build=partial(build_application, "ResNet152", 224),
    defaults={},
)
