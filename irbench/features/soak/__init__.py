"""Models called for a long time: whether memory grows or calls become slower."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("soak", "Measure", "Call models for a long time: whether memory grows or calls become slower.", rank=3),
)
