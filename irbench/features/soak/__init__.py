"""Models called for a long time: whether memory grows or calls become slower."""

from irbench.runs.run_modes import RunMode
from irbench.terminal.commands import Command

COMMANDS = (
    Command("soak", "Measure", "Call models for a long time: whether memory grows or calls become slower.", rank=3),
)
RUN_MODE = RunMode("soak", "soaks", measure="soaked_rows.run", views="view.soak_views")
