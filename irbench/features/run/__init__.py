"""Models measured on backends: which is fastest, by how much, and how sure that is."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "run", "Measure", "Measure models on backends: which is fastest, by how much, and how sure that is.", rank=0
    ),
)
