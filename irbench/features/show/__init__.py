"""A stored run shown again, or its raw samples.

Tables, exports and samples are derived from the stored raw samples, whose checksums are verified. Nothing is
measured. docs/reading-results.md explains the tables, docs/exports.md the formats.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("show", "Everyday", "Show a stored run or its raw samples.", only_prints=("",)),)
PAGE = "docs/stored-runs.md"
