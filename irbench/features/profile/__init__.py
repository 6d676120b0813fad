"""Where the time of an inference goes on each backend, operator by operator."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "profile",
        "Understand",
        "Show where the time of an inference goes on each backend, operator by operator.",
        rank=0,
    ),
)
