"""The version of a runtime that changed the speed or the answers of a model.

Releases between two versions are installed by uv and halved: each is compared with the first one, by speed with a
confidence interval or by the values of the outputs, until two neighbours differ. Every comparison is a stored run.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("bisect", "Decide", "Find the runtime version that changed a model.", rank=2),)
PAGE = "docs/versions.md"
