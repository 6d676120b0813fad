"""Xception (Chollet, *Xception: Deep Learning with Depthwise Separable Convolutions*, CVPR 2017)."""

from __future__ import annotations

from irbench_zoo.applications import Family

_FAMILY = Family("depthwise CNN", "depthwise separable convolutions with residual connections", low=-1.0, high=1.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
xception = _FAMILY.model("xception", "Xception", 299, 71, 22_910_480, 8_357_403_496)
