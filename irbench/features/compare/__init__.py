"""Stored runs compared: which rows became slower, and how sure that is.

Rows of both sides are matched by everything that was asked of them, and the change of each figure gets a confidence
interval from all launches. Conditions of --fail-on make it a gate for continuous integration, and --confirm measures
again what regressed or could not be judged.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("compare", "Everyday", "Compare stored runs and find regressions.", only_prints=("",), rank=3),)
PAGE = "docs/comparing-runs.md"
