"""Stored runs compared: which rows became slower, and how sure that is."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "compare", "Decide", "Compare stored runs: which rows became slower, and how sure that is.", only_prints=("",)
    ),
)
