"""The arithmetic, parameters and bytes of a graph, counted from its shapes."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "cost",
        "Understand",
        "Count the arithmetic, parameters and bytes of a graph, from its shapes.",
        only_prints=("",),
    ),
)
