"""Hardware counters and Top-Down of measured rows, in launches of their own.

They say what the processor did during an inference: instructions, cache misses and the shares of pipeline slots, as
perf and toplev count them. Launches that are counted are not timed.
"""

from irbench.runs.run_modes import RunMode

RUN_MODE = RunMode("counting", "counters", measure="run.Counters", views="view.counter_views", follows_speeds=True)
PAGE = "docs/counters.md"
