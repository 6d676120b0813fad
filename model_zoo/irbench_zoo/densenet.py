"""Densely connected networks (Huang et al., *Densely Connected Convolutional Networks*, CVPR 2017)."""

from __future__ import annotations

from functools import partial

from irbench.spi import ModelSource
from irbench_zoo.applications import build_application
from irbench_zoo.inputs import image

__all__ = ["densenet121"]

densenet121 = ModelSource(
    name="densenet121",
    family="densely connected CNN",
    summary="121 layers, 8.1 M parameters, every layer feeds all later ones of its block",
    inputs=image(224, -2.0, 2.0),
    build=partial(build_application, "DenseNet121", 224),
    defaults={},
)
