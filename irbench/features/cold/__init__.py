"""Cold starts: what the first inference costs after a process or a machine has started."""

from irbench.runs.run_modes import RunMode

RUN_MODE = RunMode("cold", "cold_starts", measure="run.run", views="view.cold_views")
