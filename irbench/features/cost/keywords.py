"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.cost.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict


class CostKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.cost`; ``None`` is the default of each.

    Attributes:
        batch: Count for this batch size (for example ``8``).
        shape: Count for this shape of an input, or size of a dynamic dimension (length=128). A batch and dimensions
            that are not given have their default sizes (for example ``{"tokens": (1, 128)}``).
    """

    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
