"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.compare.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TypedDict


class CompareKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.compare`; ``None`` is the default of each.

    Attributes:
        fail_on: Exit with 1 if a row got worse by more: p50:5%, fps:3%, peak_memory:50MB, size:0%; also 'p50>5%', in
            quotes. Exit with 6 if that cannot be judged (for example ``["p50>5%", "fps<-3%"]``).
        within: Differences up to this count as the same (for example ``"2%", or 0.02``; default: 2%).
        confirm: Measure again what regressed or could not be judged, both models side by side where available, and exit
            with 1 only if a regression is found then. Without ``fail_on``: a time that is longer by more than
            ``within``.
        allow_own_code: Let ``confirm`` run the code and use the files that the stored plan names.
        force: Compare although the machines differ.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    fail_on: str | Iterable[str] | None
    within: str | float | None
    confirm: bool | None
    allow_own_code: bool | None
    force: bool | None
    results: str | PathLike[str] | None
