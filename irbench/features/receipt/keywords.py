"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.receipt.options`; change that."""

from __future__ import annotations

from datetime import timedelta
from os import PathLike
from typing import TypedDict


class ReplayKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.replay`; ``None`` is the default of each.

    Attributes:
        force: Replay even if the machine, the versions or the confinement of workers differ.
        allow_own_code: Run the code and use the files that the receipt's plan names.
        within: Intervals that lie no further apart than this agree (for example ``"2%", or 0.02``; default: 2%).
        budget: Time limit for the whole run (for example ``"90s", or 90``; default: that of the plan).
        quick: 3 launches: shows whether the plan runs here, and decides no claim.
        no_lock: Measure even if another irbench is measuring on this machine.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    force: bool | None
    allow_own_code: bool | None
    within: str | float | None
    budget: str | float | timedelta | None
    quick: bool | None
    no_lock: bool | None
    results: str | PathLike[str] | None
