"""Stored runs: listed, removed, exported and imported.

Runs are listed with their outcome, newest first; an archive carries them to another machine, where documents,
checksums and samples are checked before any run is imported. Nothing is measured. docs/security.md says what is
checked, docs/comparing-runs.md what to do with the runs.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("results", "Results", "List, remove, export and import stored runs.", only_prints=("",)),)
PAGE = "docs/stored-runs.md"
