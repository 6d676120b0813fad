"""A row of a run as a folder that runs without irbench: its graph, its program, and a check of both.

The graph is the one that was measured, byte for byte. The program sets the same options, threads and streams; check.py
compares its outputs with the expected ones, and its speed with the run.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("deploy", "Everyday", "Write the winner as a standalone folder.", rank=4),)
PAGE = "docs/deploying.md"
