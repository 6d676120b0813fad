"""The options of ``irbench report``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import like


@dataclass(frozen=True)
class ReportOptions:
    """What is written, and where."""

    output: Path | None = option(
        kinds.PATH, "The page to write.", short="-o", metavar="FILE", default_text="report.html"
    )
    open: bool = option(kinds.FLAG, "Open the page in a browser.", default=False)
    force: bool = option(kinds.FLAG, "Replace a page that exists.", default=False)
    results: Path | None = like("results")


REPORT = CommandOptions("report", ReportOptions)
