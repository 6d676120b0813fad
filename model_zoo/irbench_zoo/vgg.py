"""Plain deep networks (Simonyan and Zisserman, *Very Deep Convolutional Networks*, ICLR 2015)."""

from __future__ import annotations

from irbench_zoo.applications import Family

# Channel means subtracted from 0..255 leave about this range.
_FAMILY = Family("plain CNN", "3x3 convolutions and three wide dense layers", low=-128.0, high=128.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
vgg16 = _FAMILY.model("vgg16", "VGG16", 224, 16, 138_357_544, 15_470_264_320)
vgg19 = _FAMILY.model("vgg19", "VGG19", 224, 19, 143_667_240, 19_632_062_464)
