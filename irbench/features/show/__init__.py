"""A stored run shown again, or its raw samples."""

from irbench.terminal.commands import Command

COMMANDS = (Command("show", "Results", "Show a stored run again, or its raw samples.", only_prints=("",), rank=0),)
