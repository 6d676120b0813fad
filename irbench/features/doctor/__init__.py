"""What disturbs measurements on this machine, how to fix it, and what the machine attains.

It checks processors, clocks, memory, limits and other programs, and gives each finding its effect and a remedy. --aa
measures a backend against itself, and --peak the operations and the bandwidth that the machine attains.
docs/roofline.md says what the peaks are for.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("doctor", "Everyday", "Find what disturbs measurements on this machine.", rank=5),)
PAGE = "docs/doctor.md"
