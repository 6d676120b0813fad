"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.history.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from os import PathLike
from typing import TypedDict

from irbench.options.values import RunName


class HistoryKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.history`; ``None`` is the default of each.

    Attributes:
        backend: Only rows of this backend (for example ``"ort"``).
        machine: Fingerprint, or its beginning (for example ``"3f2a9c"``; default: machine of the newest run of the
            model).
        since: Only runs no older than this, for example 90d (for example ``"90s", or 90``).
        limit: Only the newest N runs (for example ``20``).
        fail_on: Exit with 1 if a figure got worse by more, in the last confirmed change or since the oldest run:
            p50:5%, fps:3%; also 'p50>5%', in quotes. Exit with 6 if that cannot be judged (for example ``["p50>5%",
            "fps<-3%"]``).
        since_run: Take the total change since this run (for example ``"v1.0"``; default: the oldest shown).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    backend: str | None
    machine: str | None
    since: str | float | timedelta | None
    limit: str | int | None
    fail_on: str | Iterable[str] | None
    since_run: RunName | None
    results: str | PathLike[str] | None
