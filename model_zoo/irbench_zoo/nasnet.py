"""Networks of cells that a search found (Zoph et al., *Learning Transferable Architectures*, CVPR 2018)."""

from __future__ import annotations

from irbench_zoo.applications import Family

_FAMILY = Family("branching CNN", "cells of separable convolutions found by a search", low=-1.0, high=1.0)

# name, constructor, height and width, layers, parameters, multiply-accumulates
nasnet_mobile = _FAMILY.model("nasnet_mobile", "NASNetMobile", 224, 98, 5_326_716, 563_638_816)
nasnet_large = _FAMILY.model("nasnet_large", "NASNetLarge", 331, 128, 88_949_818, 23_783_414_658)
