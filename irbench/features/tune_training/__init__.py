"""The settings with which a model trains fastest, searched and confirmed.

Where all combinations of settings would take too long, a search launches those that promise most, as it does for
inference. The best are compared with the default under the full protocol, once it is known that their loss falls.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("tune-training", "Decide", "Search for the fastest training configuration.", rank=0),)
PAGE = "docs/tuning.md"
