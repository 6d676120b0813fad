"""Networks of depthwise separable convolutions (Sandler et al., *MobileNetV2*, CVPR 2018)."""

from __future__ import annotations

from functools import partial

from irbench.spi import ModelSource
from irbench_zoo.applications import build_application
from irbench_zoo.inputs import image

__all__ = ["mobilenet_v2"]

mobilenet_v2 = ModelSource(
    name="mobilenet_v2",
    family="depthwise CNN",
    summary="53 layers, 3.5 M parameters, inverted residuals with ReLU6",
    inputs=image(224, -1.0, 1.0),
    build=partial(build_application, "MobileNetV2", 224),
    defaults={},
)
