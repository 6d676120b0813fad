"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.fleet.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from os import PathLike
from typing import TypedDict


class FleetKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.fleet`; ``None`` is the default of each.

    Attributes:
        targets: The machines that measure (for example ``"fleet.toml"``; default: this machine).
        scheduler: Scheduler of a Dask cluster that runs already; its workers with --resources measure=1 measure (for
            example ``"tls://10.0.0.1:8786"``; default: one that this call starts).
        resume: Go on where the fleet stopped: nothing is measured twice. What failed is tried again.
        only: Measure only these cells: batch=8,backends=ort, or the beginning of an id (for example
            ``"batch=8,backends=ort"``).
        skip: Leave these cells out (for example ``"batch=8,backends=ort"``).
        patience: How long to wait for a target that is not there (for example ``"90s", or 90``; default: 10m).
        name: Name the fleet (for example ``"before"``; default: that of the plan).
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    targets: str | PathLike[str] | None
    scheduler: str | None
    resume: bool | None
    only: str | Iterable[str] | None
    skip: str | Iterable[str] | None
    patience: str | float | timedelta | None
    name: str | None
    results: str | PathLike[str] | None
