"""What a run claims, written to one file that others can check by measuring it again.

The file has the plan, the environment, checksums and every verdict that was decided. `irbench replay` measures the plan
again on the same machine with the same versions, and confirms or refutes each claim by its interval.
"""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("receipt", "Results", "Write a reproducible receipt of a run."),
    Command("replay", "Results", "Check whether the results of a receipt reproduce.", module="replay_command"),
)
PAGE = "docs/comparing-runs.md"
