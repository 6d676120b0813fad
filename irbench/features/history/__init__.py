"""The figures of a model over stored runs, and where they changed."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "history", "Decide", "Show the figures of a model over stored runs, and where they changed.", only_prints=("",)
    ),
)
