"""Models measured on backends: which is fastest, by how much, and how sure that is.

Rows take turns in fresh processes, launch after launch, until intervals are narrow enough or the time is up; outputs
are verified before anything is timed. The result is a stored run with latency, throughput and speedups, each with a
confidence interval. docs/protocol.md explains how it measures, docs/reading-results.md how to read it.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("run", "Everyday", "Measure a model on several backends and compare.", rank=0),)
PAGE = "docs/reading-results.md"
