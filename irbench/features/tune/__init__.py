"""The setting with which a model runs best, searched and confirmed."""

from irbench.terminal.commands import Command

COMMANDS = (Command("tune", "Decide", "Search for the setting with which a model runs best, and confirm it.", rank=0),)
