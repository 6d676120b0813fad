"""The smallest part of a graph that still shows a difference between backends."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "reduce",
        "Understand",
        "Find the smallest part of a graph that still shows a difference between backends.",
        rank=2,
    ),
)
