"""The models of the zoo and the exported ones."""

from irbench.terminal.commands import Command

COMMANDS = (Command("models", "Models", "List the models of the zoo.", only_prints=("",), rank=0),)
