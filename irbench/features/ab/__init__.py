"""Two versions of a runtime, each in a Python environment of its own, compared.

Workers of two environments take turns in one table, so the ratio between the versions has a confidence interval like
any other speedup, and outputs are verified first. uv installs releases; wheels and interpreters can be named too.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("ab", "Decide", "Compare two versions of a runtime."),)
PAGE = "docs/versions.md"
