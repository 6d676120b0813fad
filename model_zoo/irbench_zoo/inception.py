"""Inception networks.

Szegedy et al., *Rethinking the Inception Architecture for Computer Vision*, CVPR 2016, and *Inception-v4,
Inception-ResNet and the Impact of Residual Connections on Learning*, AAAI 2017.
"""

from __future__ import annotations

from irbench_zoo.applications import Family

_V3 = Family("branching CNN", "parallel branches with factorised convolutions", low=-1.0, high=1.0)
_RESIDUAL = Family("branching CNN", "parallel branches beside residual connections", low=-1.0, high=1.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
inception_v3 = _V3.model("inception_v3", "InceptionV3", 299, 48, 23_851_784, 5_713_216_096)
inception_resnet_v2 = _RESIDUAL.model("inception_resnet_v2", "InceptionResNetV2", 299, 176, 55_873_736, 13_155_794_016)
