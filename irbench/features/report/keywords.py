"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.report.options`; change that."""

from __future__ import annotations

from os import PathLike
from typing import Literal, TypedDict


class ReportKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.report`; ``None`` is the default of each.

    Attributes:
        output: The page to write, or the folder for charts (for example ``"./data"``; default: report.html, or charts).
        format: A page, or a file for each chart: vega is its Vega-Lite specification (for example ``"html", "vega",
            "svg", "png" or "pdf"``; default: html).
        site: Write a folder of pages: an index of all figures, and a page for each model, machine, backend and run (for
            example ``"./data"``).
        charts: Draw the charts of each run's page in a site.
        open: Open the page in a browser.
        force: Replace files that exist.
        results: Folder of stored runs (for example ``"./results"``; default: IRBENCH_RESULTS, or your data folder).
    """

    output: str | PathLike[str] | None
    format: Literal["html", "vega", "svg", "png", "pdf"] | None
    site: str | PathLike[str] | None
    charts: bool | None
    open: bool | None
    force: bool | None
    results: str | PathLike[str] | None
