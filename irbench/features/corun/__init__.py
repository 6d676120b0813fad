"""Models measured beside other programs: how much slower they are, and what keeping these away buys back.

A row alone, the same row once more, and the row beside each neighbour at each intensity take turns in one session, so
that the slowdowns are of pairs within a block.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("corun", "Measure", "Measure the slowdown caused by co-located programs.", rank=3),)
PAGE = "docs/corun.md"
