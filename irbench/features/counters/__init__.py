"""Hardware counters and Top-Down of measured rows, in launches of their own."""

from irbench.runs.run_modes import RunMode

RUN_MODE = RunMode("counting", "counters", measure="run.run", views="view.counter_views", follows_speeds=True)
