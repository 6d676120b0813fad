"""Everything that a plan asks for, measured, and continued where it stopped.

Tables are measured in random order, each stored as a run launch by launch, and a call that was interrupted continues
with the next one. One report covers all tables.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("sweep", "Measure", "Run all benchmarks of a plan."),)
PAGE = "docs/plans.md"
