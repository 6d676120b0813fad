"""A plan measured on many machines through Dask, collected here, and compared machine by machine.

Each job is a table of the plan, measured whole on its target by an irbench there; what returns is an archive of runs.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("fleet", "Measure", "Run benchmarks on several machines and compare them.", rank=2),)
PAGE = "docs/fleet.md"
