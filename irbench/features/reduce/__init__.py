"""The smallest part of a graph that still shows a difference between backends.

Parts of the graph are cut out and tried until no node can be left out: a part must still be slower by so much, give
wrong outputs or fail in the same way. The result is a small model with its inputs and the text of a bug report.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("reduce", "Understand", "Find the smallest graph that shows a difference.", rank=2),)
PAGE = "docs/reducing.md"
