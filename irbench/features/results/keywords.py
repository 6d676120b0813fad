"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.results.options`; change that."""

from __future__ import annotations

from datetime import timedelta
from os import PathLike
from typing import TypedDict


class ResultsKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.results`; ``None`` is the default of each.

    Attributes:
        model: Only runs of this model (for example ``"resnet50"``).
        backend: Only runs that measured this backend or row (for example ``"ort"``).
        since: Only runs no older than this, for example 12h or 7d (for example ``"90s", or 90``).
        limit: Only the newest N (for example ``20``).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    model: str | None
    backend: str | None
    since: str | float | timedelta | None
    limit: str | int | None
    results: str | PathLike[str] | None
