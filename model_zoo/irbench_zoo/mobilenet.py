"""Networks of depthwise separable convolutions, for phones.

Howard et al., *MobileNets*, 2017; Sandler et al., *MobileNetV2*, CVPR 2018; Howard et al., *Searching for MobileNetV3*,
ICCV 2019.
"""

from __future__ import annotations

from irbench_zoo.applications import Family

_V1 = Family("depthwise CNN", "depthwise separable convolutions with ReLU6", low=-1.0, high=1.0)
_V2 = Family("depthwise CNN", "inverted residuals with ReLU6", low=-1.0, high=1.0)
_V3 = Family("depthwise CNN", "inverted residuals with hard swish and squeeze-and-excitation", low=0.0, high=255.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
mobilenet = _V1.model("mobilenet", "MobileNet", 224, 28, 4_253_864, 568_740_352)
mobilenet_v2 = _V2.model("mobilenet_v2", "MobileNetV2", 224, 53, 3_538_984, 300_774_272)
mobilenet_v3_small = _V3.model("mobilenet_v3_small", "MobileNetV3Small", 224, 54, 2_554_968, 56_510_400)
mobilenet_v3_large = _V3.model("mobilenet_v3_large", "MobileNetV3Large", 224, 64, 5_507_432, 216_589_760)
