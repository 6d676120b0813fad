"""Compound-scaled networks (Tan and Le, *EfficientNet*, ICML 2019, and *EfficientNetV2*, ICML 2021).

They take pixels as they are: what normalises them is a part of the network.
"""

from __future__ import annotations

from irbench_zoo.applications import Family

__all__ = [
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_b0",
    "efficientnet_v2_b1",
    "efficientnet_v2_b2",
    "efficientnet_v2_b3",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]

_V1 = Family("depthwise CNN", "inverted residuals with SiLU and squeeze-and-excitation", low=0.0, high=255.0)
_V2 = Family("depthwise CNN", "inverted residuals, the first ones fused into plain convolutions", low=0.0, high=255.0)

efficientnet_b0 = _V1.model("efficientnet_b0", "EfficientNetB0", 224, layers=82, parameters=5_330_571)
efficientnet_b1 = _V1.model("efficientnet_b1", "EfficientNetB1", 240, layers=116, parameters=7_856_239)
efficientnet_b2 = _V1.model("efficientnet_b2", "EfficientNetB2", 260, layers=116, parameters=9_177_569)
efficientnet_b3 = _V1.model("efficientnet_b3", "EfficientNetB3", 300, layers=131, parameters=12_320_535)
efficientnet_b4 = _V1.model("efficientnet_b4", "EfficientNetB4", 380, layers=161, parameters=19_466_823)
efficientnet_b5 = _V1.model("efficientnet_b5", "EfficientNetB5", 456, layers=195, parameters=30_562_527)
efficientnet_b6 = _V1.model("efficientnet_b6", "EfficientNetB6", 528, layers=225, parameters=43_265_143)
efficientnet_b7 = _V1.model("efficientnet_b7", "EfficientNetB7", 600, layers=274, parameters=66_658_687)
efficientnet_v2_b0 = _V2.model("efficientnet_v2_b0", "EfficientNetV2B0", 224, layers=92, parameters=7_200_312)
efficientnet_v2_b1 = _V2.model("efficientnet_v2_b1", "EfficientNetV2B1", 240, layers=112, parameters=8_212_124)
efficientnet_v2_b2 = _V2.model("efficientnet_v2_b2", "EfficientNetV2B2", 260, layers=117, parameters=10_178_374)
efficientnet_v2_b3 = _V2.model("efficientnet_v2_b3", "EfficientNetV2B3", 300, layers=137, parameters=14_467_622)
efficientnet_v2_s = _V2.model("efficientnet_v2_s", "EfficientNetV2S", 384, layers=171, parameters=21_612_360)
efficientnet_v2_m = _V2.model("efficientnet_v2_m", "EfficientNetV2M", 480, layers=246, parameters=54_431_388)
efficientnet_v2_l = _V2.model("efficientnet_v2_l", "EfficientNetV2L", 480, layers=340, parameters=119_027_848)
