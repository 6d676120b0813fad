"""Cold starts: what the first inference costs after a process or a machine has started.

Each launch is a fresh process of one row, with a cold and with a warm cache, and the time from its start to its first
output is split into phases: start, import, load, compile and inference. The steady speed is not measured.
"""

from irbench.runs.run_modes import RunMode

RUN_MODE = RunMode("asked.cold", "cold_starts", measure="run.ColdStarts", views="view.cold_views")
PAGE = "docs/cold-starts-and-memory.md"
