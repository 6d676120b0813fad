"""Residual networks.

He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016, and *Identity Mappings in Deep Residual Networks*,
ECCV 2016, where normalisation and activation come before each convolution.
"""

from __future__ import annotations

from irbench_zoo.applications import Family

# Channel means subtracted from 0..255 leave about this range.
_V1 = Family("residual CNN", "bottleneck blocks with batch normalisation", low=-128.0, high=128.0)
_V2 = Family("residual CNN", "bottleneck blocks that normalise before they convolve", low=-1.0, high=1.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
resnet50 = _V1.model("resnet50", "ResNet50", 224, 50, 25_636_712, 3_857_973_248)
resnet101 = _V1.model("resnet101", "ResNet101", 224, 101, 44_707_176, 7_570_194_432)
resnet152 = _V1.model("resnet152", "ResNet152", 224, 152, 60_419_944, 11_282_415_616)
resnet50_v2 = _V2.model("resnet50_v2", "ResNet50V2", 224, 50, 25_613_800, 3_482_255_360)
resnet101_v2 = _V2.model("resnet101_v2", "ResNet101V2", 224, 101, 44_675_560, 7_194_476_544)
resnet152_v2 = _V2.model("resnet152_v2", "ResNet152V2", 224, 152, 60_380_648, 10_906_697_728)
