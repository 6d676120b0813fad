"""What disturbs measurements on this machine, how to fix it, and what the machine attains."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("doctor", "Machine", "Report what disturbs measurements on this machine, and how to fix it.", rank=0),
)
