"""Densely connected networks (Huang et al., *Densely Connected Convolutional Networks*, CVPR 2017)."""

from __future__ import annotations

from irbench_zoo.applications import Family

__all__ = ["densenet121", "densenet169", "densenet201"]

_FAMILY = Family("densely connected CNN", "every layer feeds all later ones of its block", low=-2.0, high=2.0)

densenet121 = _FAMILY.model("densenet121", "DenseNet121", 224, layers=121, parameters=8_062_504)
densenet169 = _FAMILY.model("densenet169", "DenseNet169", 224, layers=169, parameters=14_307_880)
densenet201 = _FAMILY.model("densenet201", "DenseNet201", 224, layers=201, parameters=20_242_984)
