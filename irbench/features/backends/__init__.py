"""The runtimes: their versions and devices, and how to install missing ones."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "backends",
        "Machine",
        "List the runtimes: versions, devices, and how to install missing ones.",
        only_prints=("",),
    ),
)
