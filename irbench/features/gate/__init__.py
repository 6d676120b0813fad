"""A gate: whether a model or a setting is slower than another one, measured side by side until that is decided.

Both take turns in the launches of one run, so that neither drift nor the load of the machine is mistaken for a change.
Launches go on until a regression is found, or slowdowns of the size that matters are excluded.
"""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("gate", "Decide", "Fail if a model or a setting is slower than another one, measured until it is decided."),
)
PAGE = "docs/gate.md"
