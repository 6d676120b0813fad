"""Plans for sweeps: read, checked, expanded, and made of stored runs."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "plan",
        "Measure",
        "Look at plans for sweeps, and make one of a stored run.",
        only_prints=("list", "show", "expand", "schema", "from"),
        rank=2,
    ),
)
