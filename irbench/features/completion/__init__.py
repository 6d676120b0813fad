"""Completion scripts for bash, zsh and fish."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("completion", "Machine", "Print the completion script for bash, zsh or fish.", only_prints=("",), rank=2),
)
