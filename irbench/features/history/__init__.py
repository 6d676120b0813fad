"""The figures of a model over stored runs, and where they changed.

A permutation test finds changes of level in latency, throughput, size, compile time and memory, run by run on one
machine, and tells them from single runs that stand out. Conditions of --fail-on make it a gate.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("history", "Decide", "Show how the results of a model changed.", only_prints=("",)),)
PAGE = "docs/comparing-runs.md"
