"""Plans for sweeps: read, checked, expanded, and made of stored runs.

A plan is a TOML file with the lists of models, backends and settings that a sweep measures. The command lists, checks
and expands plans without measuring, and writes one from a stored run.
"""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "plan",
        "Measure",
        "Show, expand and create plans for sweeps.",
        only_prints=("list", "show", "expand", "schema", "from"),
    ),
)
PAGE = "docs/plans.md"
