"""A page of one file with the verdict, the tables and the charts of results, which opens in any browser offline.

The page is made from stored results and needs no network and no scripts, so it can be sent to others and printed.
Nothing is measured. docs/report.md shows what is on it.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("report", "Results", "Write a page with tables and charts."),)
PAGE = "docs/report.md"
