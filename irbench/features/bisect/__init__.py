"""The version of a runtime that changed the speed or the answers of a model."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "bisect", "Decide", "Find the version of a runtime that changed the speed or the answers of a model.", rank=2
    ),
)
