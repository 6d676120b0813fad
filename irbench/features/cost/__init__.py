"""The arithmetic, parameters and bytes of a graph, counted from its shapes.

It counts multiply-accumulates, other operations, parameters and bytes for each operator without running anything; where
dimensions are dynamic, the counts are formulas in their sizes. An operator that it cannot count is named.
"""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "cost",
        "Understand",
        "Count operations, parameters and bytes of a graph.",
        only_prints=("",),
    ),
)
PAGE = "docs/cost.md"
