"""``irbench report``: write a page with the tables and charts of stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.report.options import REPORT, ReportOptions
from irbench.terminal.completion import RUN
from irbench.terminal.declared import declared
from irbench.terminal.formats import RESULTS

_EXAMPLES = """\b
Examples:
  irbench report
  irbench report monday tuesday -o week.html
  irbench report 01KAJ3WQ --open
  irbench report latest --format svg -o charts
  irbench report resnet50 -o history.html
  irbench report --site pages
"""


@click.command("report", epilog=_EXAMPLES)
@click.argument("runs", nargs=-1, type=RUN, metavar="[RESULT]...")
@declared(REPORT)
@RESULTS
def command(runs: tuple[str, ...], results: Path | None, **options: Any) -> None:
    """Write a page with tables and charts.

    RESULT is a run or a sweep as `irbench show` takes it, the id of a profile, or a model, whose history is shown;
    without it, the newest run in which at least one row was measured. Two runs are also compared; with a run that
    `irbench tune` made stands its search.

    The page asks for nothing outside of it, and can be read without scripts and printed. With another --format, each
    chart is a file of its own. With --site, a folder of pages compares the machines of all stored runs, or of those
    that are named.
    """
    from irbench.features.report.run import write_report
    from irbench.terminal.stderr import say

    say(f"written: {write_report(runs, ReportOptions(results=results, **options), say)}")
