"""A gate: whether a model or a configuration is slower than another one, measured side by side until that is decided.

Both take turns in the launches of one run, so that neither drift nor the load of the machine looks like a change. The
run ends when a regression is found, or when slowdowns of the size that matters are excluded.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("gate", "Decide", "Fail if a model or configuration is slower."),)
PAGE = "docs/gate.md"
