"""Models called for a long time: whether memory grows or calls become slower.

Each row is called in blocks in a process of its own. The slope of its resident memory, in bytes per call, and the trend
of its latency over the blocks have confidence intervals; outputs are verified before and after each block.
"""

from irbench.runs.run_modes import RunMode
from irbench.terminal.commands import Command

COMMANDS = (Command("soak", "Measure", "Detect memory growth and slowdown over time.", rank=3),)
RUN_MODE = RunMode("soak", "soaks", measure="soaked_rows.Soak", views="view.soak_views")
PAGE = "docs/cold-starts-and-memory.md"
