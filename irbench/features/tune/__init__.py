"""The setting with which a model runs best, searched and confirmed.

A search launches settings side by side, such as batch size, threads, streams and precision, and models their speed. The
best are then measured under the full protocol beside every backend's defaults, and one is recommended with the interval
of its gain.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("tune", "Everyday", "Search for the fastest configuration and confirm it.", rank=2),)
PAGE = "docs/tuning.md"
