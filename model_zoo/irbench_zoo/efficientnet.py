"""Compound-scaled networks (Tan and Le, *EfficientNet*, ICML 2019, and *EfficientNetV2*, ICML 2021).

They take pixels as they are: what normalises them is a part of the network.
"""

from __future__ import annotations

from irbench_zoo.applications import Family

_V1 = Family("depthwise CNN", "inverted residuals with SiLU and squeeze-and-excitation", low=0.0, high=255.0)
_V2 = Family("depthwise CNN", "inverted residuals, the first ones fused into plain convolutions", low=0.0, high=255.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
efficientnet_b0 = _V1.model("efficientnet_b0", "EfficientNetB0", 224, 82, 5_330_571, 385_814_752)
efficientnet_b1 = _V1.model("efficientnet_b1", "EfficientNetB1", 240, 116, 7_856_239, 686_802_832)
efficientnet_b2 = _V1.model("efficientnet_b2", "EfficientNetB2", 260, 116, 9_177_569, 993_561_872)
efficientnet_b3 = _V1.model("efficientnet_b3", "EfficientNetB3", 300, 131, 12_320_535, 1_827_141_392)
efficientnet_b4 = _V1.model("efficientnet_b4", "EfficientNetB4", 380, 161, 19_466_823, 4_393_771_024)
efficientnet_b5 = _V1.model("efficientnet_b5", "EfficientNetB5", 456, 195, 30_562_527, 10_266_384_752)
efficientnet_b6 = _V1.model("efficientnet_b6", "EfficientNetB6", 528, 225, 43_265_143, 19_067_593_536)
efficientnet_b7 = _V1.model("efficientnet_b7", "EfficientNetB7", 600, 274, 66_658_687, 37_745_884_192)
efficientnet_v2_b0 = _V2.model("efficientnet_v2_b0", "EfficientNetV2B0", 224, 92, 7_200_312, 718_086_176)
efficientnet_v2_b1 = _V2.model("efficientnet_v2_b1", "EfficientNetV2B1", 240, 112, 8_212_124, 1_196_819_360)
efficientnet_v2_b2 = _V2.model("efficientnet_v2_b2", "EfficientNetV2B2", 260, 117, 10_178_374, 1_697_542_832)
efficientnet_v2_b3 = _V2.model("efficientnet_v2_b3", "EfficientNetV2B3", 300, 137, 14_467_622, 3_011_458_816)
efficientnet_v2_s = _V2.model("efficientnet_v2_s", "EfficientNetV2S", 384, 171, 21_612_360, 8_365_617_152)
efficientnet_v2_m = _V2.model("efficientnet_v2_m", "EfficientNetV2M", 480, 246, 54_431_388, 24_582_460_384)
efficientnet_v2_l = _V2.model("efficientnet_v2_l", "EfficientNetV2L", 480, 340, 119_027_848, 56_079_699_008)
