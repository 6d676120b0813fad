"""Inception networks (Szegedy et al., *Rethinking the Inception Architecture*, CVPR 2016)."""

from __future__ import annotations

from functools import partial

from irbench.spi import ModelSource
from irbench_zoo.applications import build_application
from irbench_zoo.inputs import image

__all__ = ["inception_v3"]

inception_v3 = ModelSource(
    name="inception_v3",
    family="branching CNN",
    summary="48 layers, 23.9 M parameters, parallel branches with factorised convolutions",
    inputs=image(299, -1.0, 1.0),
    build=partial(build_application, "InceptionV3", 299),
    defaults={},
)
