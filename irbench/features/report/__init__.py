"""A page of one file with the verdict, the tables and the charts of results, which opens in any browser offline."""

from irbench.terminal.commands import Command

COMMANDS = (Command("report", "Results", "Write a page with the tables and charts of results."),)
