"""The options of ``irbench report``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import like
from irbench.options.values import PageForm


@dataclass(frozen=True)
class ReportOptions:
    """What is written, and where."""

    output: Path | None = option(
        kinds.PATH,
        "The page to write, or the folder for charts.",
        short="-o",
        metavar="PATH",
        default_text="report.html, or charts",
    )
    format: PageForm = option(
        kinds.one_of(PageForm),
        "A page, or a file for each chart: vega is its Vega-Lite specification.",
        default="html",
    )
    site: Path | None = option(
        kinds.PATH,
        "Write a folder of pages: an index of all figures, and a page for each model, machine, backend and run.",
        metavar="DIR",
    )
    charts: bool = option(kinds.FLAG, "Draw the charts of each run's page in a site.", default=False)
    open: bool = option(kinds.FLAG, "Open the page in a browser.", default=False)
    force: bool = option(kinds.FLAG, "Replace files that exist.", default=False)
    results: Path | None = like("results")


REPORT = CommandOptions("report", ReportOptions)
