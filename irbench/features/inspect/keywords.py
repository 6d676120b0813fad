"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.inspect.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict


class InspectKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.inspect`; ``None`` is the default of each.

    Attributes:
        batch: Show the graph at this batch size (for example ``8``).
        shape: Show the graph at this shape of an input, or size of a dynamic dimension (length=128) (for example
            ``{"tokens": (1, 128)}``).
    """

    batch: str | int | None
    shape: Mapping[str, str | int | Iterable[int]] | None
