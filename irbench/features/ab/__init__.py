"""Two versions of a runtime, each in a Python environment of its own, compared."""

from irbench.terminal.commands import Command

COMMANDS = (Command("ab", "Decide", "Compare two versions of a runtime, each in a Python environment of its own."),)
