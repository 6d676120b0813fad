"""Densely connected networks (Huang et al., *Densely Connected Convolutional Networks*, CVPR 2017)."""

from __future__ import annotations

from irbench_zoo.applications import Family

_FAMILY = Family("densely connected CNN", "every layer feeds all later ones of its block", low=-2.0, high=2.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
densenet121 = _FAMILY.model("densenet121", "DenseNet121", 224, 121, 8_062_504, 2_834_161_664)
densenet169 = _FAMILY.model("densenet169", "DenseNet169", 224, 169, 14_307_880, 3_359_843_328)
densenet201 = _FAMILY.model("densenet201", "DenseNet201", 224, 201, 20_242_984, 4_291_365_888)
