"""Image classifiers that Keras itself ships, built without trained weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image


@dataclass(frozen=True)
class Family:
    """Classifiers of ``keras.applications`` that are built alike.

    Attributes:
        kind: What kind of network they are, ``residual CNN`` for example.
        low: Smallest value of their inputs, as their ``preprocess_input`` leaves them.
    """

    kind: str
    blocks: str
    low: float
    high: float

    def model(self, name: str, constructor: str, size: int, layers: int, parameters: int, macs: int) -> ModelSource:
        """Return one of them."""
        return ModelSource(
            name=name,
            family=self.kind,
            summary=f"{layers} layers, {self.blocks}",
            inputs=image(size, self.low, self.high),
            build=partial(build_application, constructor, size),
            parameters=parameters,
            macs=macs,
        )


def build_application(constructor: str, size: int) -> Any:
    """Return the classifier of 1000 classes as an uncompiled ``keras.Model``; imports Keras."""
    import keras

    pixels = keras.Input((size, size, 3), name=IMAGE)
    return getattr(keras.applications, constructor)(weights=None, input_tensor=pixels)


# Each model: name, constructor, height and width, layers, parameters, multiply-accumulates.

# Residual networks (He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016, and *Identity Mappings in
# Deep Residual Networks*, ECCV 2016, where normalisation and activation come before each convolution).
# Channel means subtracted from 0..255 leave about this range.
_RESNET = Family("residual CNN", "bottleneck blocks with batch normalisation", low=-128.0, high=128.0)
_RESNET_V2 = Family("residual CNN", "bottleneck blocks that normalise before they convolve", low=-1.0, high=1.0)
resnet50 = _RESNET.model("resnet50", "ResNet50", 224, 50, 25_636_712, 3_857_973_248)
resnet101 = _RESNET.model("resnet101", "ResNet101", 224, 101, 44_707_176, 7_570_194_432)
resnet152 = _RESNET.model("resnet152", "ResNet152", 224, 152, 60_419_944, 11_282_415_616)
resnet50_v2 = _RESNET_V2.model("resnet50_v2", "ResNet50V2", 224, 50, 25_613_800, 3_482_255_360)
resnet101_v2 = _RESNET_V2.model("resnet101_v2", "ResNet101V2", 224, 101, 44_675_560, 7_194_476_544)
resnet152_v2 = _RESNET_V2.model("resnet152_v2", "ResNet152V2", 224, 152, 60_380_648, 10_906_697_728)

# Depthwise separable convolutions, for phones (Howard et al., *MobileNets*, 2017; Sandler et al., *MobileNetV2*, CVPR
# 2018; Howard et al., *Searching for MobileNetV3*, ICCV 2019).
_MOBILENET = Family("depthwise CNN", "depthwise separable convolutions with ReLU6", low=-1.0, high=1.0)
_MOBILENET_V2 = Family("depthwise CNN", "inverted residuals with ReLU6", low=-1.0, high=1.0)
_MOBILENET_V3 = Family(
    "depthwise CNN", "inverted residuals with hard swish and squeeze-and-excitation", low=0.0, high=255.0
)
mobilenet = _MOBILENET.model("mobilenet", "MobileNet", 224, 28, 4_253_864, 568_740_352)
mobilenet_v2 = _MOBILENET_V2.model("mobilenet_v2", "MobileNetV2", 224, 53, 3_538_984, 300_774_272)
mobilenet_v3_small = _MOBILENET_V3.model("mobilenet_v3_small", "MobileNetV3Small", 224, 54, 2_554_968, 56_510_400)
mobilenet_v3_large = _MOBILENET_V3.model("mobilenet_v3_large", "MobileNetV3Large", 224, 64, 5_507_432, 216_589_760)

# Compound-scaled networks (Tan and Le, *EfficientNet*, ICML 2019, and *EfficientNetV2*, ICML 2021).
# They take pixels as they are: what normalises them is a part of the network.
_EFFICIENT = Family("depthwise CNN", "inverted residuals with SiLU and squeeze-and-excitation", low=0.0, high=255.0)
_EFFICIENT_V2 = Family(
    "depthwise CNN", "inverted residuals, the first ones fused into plain convolutions", low=0.0, high=255.0
)
efficientnet_b0 = _EFFICIENT.model("efficientnet_b0", "EfficientNetB0", 224, 82, 5_330_571, 385_814_752)
efficientnet_b1 = _EFFICIENT.model("efficientnet_b1", "EfficientNetB1", 240, 116, 7_856_239, 686_802_832)
efficientnet_b2 = _EFFICIENT.model("efficientnet_b2", "EfficientNetB2", 260, 116, 9_177_569, 993_561_872)
efficientnet_b3 = _EFFICIENT.model("efficientnet_b3", "EfficientNetB3", 300, 131, 12_320_535, 1_827_141_392)
efficientnet_b4 = _EFFICIENT.model("efficientnet_b4", "EfficientNetB4", 380, 161, 19_466_823, 4_393_771_024)
efficientnet_b5 = _EFFICIENT.model("efficientnet_b5", "EfficientNetB5", 456, 195, 30_562_527, 10_266_384_752)
efficientnet_b6 = _EFFICIENT.model("efficientnet_b6", "EfficientNetB6", 528, 225, 43_265_143, 19_067_593_536)
efficientnet_b7 = _EFFICIENT.model("efficientnet_b7", "EfficientNetB7", 600, 274, 66_658_687, 37_745_884_192)
efficientnet_v2_b0 = _EFFICIENT_V2.model("efficientnet_v2_b0", "EfficientNetV2B0", 224, 92, 7_200_312, 718_086_176)
efficientnet_v2_b1 = _EFFICIENT_V2.model("efficientnet_v2_b1", "EfficientNetV2B1", 240, 112, 8_212_124, 1_196_819_360)
efficientnet_v2_b2 = _EFFICIENT_V2.model("efficientnet_v2_b2", "EfficientNetV2B2", 260, 117, 10_178_374, 1_697_542_832)
efficientnet_v2_b3 = _EFFICIENT_V2.model("efficientnet_v2_b3", "EfficientNetV2B3", 300, 137, 14_467_622, 3_011_458_816)
efficientnet_v2_s = _EFFICIENT_V2.model("efficientnet_v2_s", "EfficientNetV2S", 384, 171, 21_612_360, 8_365_617_152)
efficientnet_v2_m = _EFFICIENT_V2.model("efficientnet_v2_m", "EfficientNetV2M", 480, 246, 54_431_388, 24_582_460_384)
efficientnet_v2_l = _EFFICIENT_V2.model("efficientnet_v2_l", "EfficientNetV2L", 480, 340, 119_027_848, 56_079_699_008)

# Residual networks brought up to date with Transformers (Liu et al., *A ConvNet for the 2020s*, CVPR 2022).
_CONVNEXT = Family("depthwise CNN", "7x7 depthwise convolutions with layer normalisation and GELU", low=0.0, high=255.0)
convnext_tiny = _CONVNEXT.model("convnext_tiny", "ConvNeXtTiny", 224, 59, 28_589_128, 4_455_531_264)
convnext_small = _CONVNEXT.model("convnext_small", "ConvNeXtSmall", 224, 113, 50_223_688, 8_683_712_256)
convnext_base = _CONVNEXT.model("convnext_base", "ConvNeXtBase", 224, 113, 88_591_464, 15_354_729_472)
convnext_large = _CONVNEXT.model("convnext_large", "ConvNeXtLarge", 224, 113, 197_767_336, 34_361_433_600)
convnext_xlarge = _CONVNEXT.model("convnext_xlarge", "ConvNeXtXLarge", 224, 113, 350_196_968, 60_921_030_656)

# Densely connected networks (Huang et al., *Densely Connected Convolutional Networks*, CVPR 2017).
_DENSENET = Family("densely connected CNN", "every layer feeds all later ones of its block", low=-2.0, high=2.0)
densenet121 = _DENSENET.model("densenet121", "DenseNet121", 224, 121, 8_062_504, 2_834_161_664)
densenet169 = _DENSENET.model("densenet169", "DenseNet169", 224, 169, 14_307_880, 3_359_843_328)
densenet201 = _DENSENET.model("densenet201", "DenseNet201", 224, 201, 20_242_984, 4_291_365_888)

# Inception networks: Szegedy et al., *Rethinking the Inception Architecture for Computer Vision*, CVPR 2016,
# and *Inception-v4, Inception-ResNet and the Impact of Residual Connections on Learning*, AAAI 2017.
_INCEPTION = Family("branching CNN", "parallel branches with factorised convolutions", low=-1.0, high=1.0)
_INCEPTION_RESNET = Family("branching CNN", "parallel branches beside residual connections", low=-1.0, high=1.0)
inception_v3 = _INCEPTION.model("inception_v3", "InceptionV3", 299, 48, 23_851_784, 5_713_216_096)
inception_resnet_v2 = _INCEPTION_RESNET.model(
    "inception_resnet_v2", "InceptionResNetV2", 299, 176, 55_873_736, 13_155_794_016
)

# Networks of cells that a search found (Zoph et al., *Learning Transferable Architectures*, CVPR 2018).
_NASNET = Family("branching CNN", "cells of separable convolutions found by a search", low=-1.0, high=1.0)
nasnet_mobile = _NASNET.model("nasnet_mobile", "NASNetMobile", 224, 98, 5_326_716, 563_638_816)
nasnet_large = _NASNET.model("nasnet_large", "NASNetLarge", 331, 128, 88_949_818, 23_783_414_658)

# Plain deep networks (Simonyan and Zisserman, *Very Deep Convolutional Networks*, ICLR 2015).
# Channel means subtracted from 0..255 leave about this range.
_VGG = Family("plain CNN", "3x3 convolutions and three wide dense layers", low=-128.0, high=128.0)
vgg16 = _VGG.model("vgg16", "VGG16", 224, 16, 138_357_544, 15_470_264_320)
vgg19 = _VGG.model("vgg19", "VGG19", 224, 19, 143_667_240, 19_632_062_464)

# Xception (Chollet, *Xception: Deep Learning with Depthwise Separable Convolutions*, CVPR 2017).
_XCEPTION = Family("depthwise CNN", "depthwise separable convolutions with residual connections", low=-1.0, high=1.0)
xception = _XCEPTION.model("xception", "Xception", 299, 71, 22_910_480, 8_357_403_496)
