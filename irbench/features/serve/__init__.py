"""Serving: which load of requests a model holds, and how long its users wait.

Requests arrive on their own, whether or not earlier ones are answered, and their latency is counted from when they
were due. Each row is given the same arrivals, at the rates that were asked for or at those of a search for the highest
rate that keeps a service level.
"""

from irbench.runs.run_modes import RunMode
from irbench.terminal.commands import Command

COMMANDS = (Command("serve", "Measure", "Measure latency and sustained load of requests.", rank=4),)
RUN_MODE = RunMode(
    "serving", "serving", measure="served_rows.Loads", views="view.serving_views", figures="charts.figures_of_loads"
)
PAGE = "docs/serving.md"
