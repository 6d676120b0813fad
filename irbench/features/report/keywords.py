"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.report.options`; change that."""

from __future__ import annotations

from os import PathLike
from typing import TypedDict


class ReportKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.report`; ``None`` is the default of each.

    Attributes:
        output: The page to write (for example ``"./data"``; default: report.html).
        open: Open the page in a browser.
        force: Replace a page that exists.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, ./results if it is empty
            or has runs, or your data folder).
    """

    output: str | PathLike[str] | None
    open: bool | None
    force: bool | None
    results: str | PathLike[str] | None
