"""What a run claims, written to one file that others can check by measuring it again."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("receipt", "Results", "Write what a run claims to one file that others can check."),
    Command("replay", "Results", "Measure what a receipt claims again: confirmed or refuted.", module="replay_command"),
)
