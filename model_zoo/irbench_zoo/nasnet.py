"""Networks of cells that a search found (Zoph et al., *Learning Transferable Architectures*, CVPR 2018)."""

from __future__ import annotations

from irbench_zoo.applications import Family

__all__ = ["nasnet_large", "nasnet_mobile"]

_FAMILY = Family("branching CNN", "cells of separable convolutions found by a search", low=-1.0, high=1.0)

nasnet_mobile = _FAMILY.model("nasnet_mobile", "NASNetMobile", 224, layers=98, parameters=5_326_716)
nasnet_large = _FAMILY.model("nasnet_large", "NASNetLarge", 331, layers=128, parameters=88_949_818)
