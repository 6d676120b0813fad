"""Everything that a plan asks for, measured, and continued where it stopped."""

from irbench.terminal.commands import Command

COMMANDS = (Command("sweep", "Measure", "Measure everything that a plan asks for, and go on where it stopped."),)
