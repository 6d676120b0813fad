"""Stored runs: listed, removed, exported and imported."""

from irbench.terminal.commands import Command

COMMANDS = (Command("results", "Results", "List, remove, export and import stored runs.", only_prints=("",)),)
