"""Completion scripts for bash, zsh and fish.

They complete commands, options, backends, models and stored runs, and import no runtime. Nothing is measured.
docs/settings.md explains what they complete.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("completion", "Machine", "Print a completion script for a shell.", only_prints=("",), rank=2),)
PAGE = "docs/settings.md"
