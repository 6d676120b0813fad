"""The runtimes: their versions and devices, and how to install missing ones.

The command lists the versions of installed runtimes, and with --probe imports each one in a worker to find its
devices and precisions. Nothing is timed. docs/devices.md says how devices are named.
"""

from irbench.terminal.commands import Command

COMMANDS = (
    Command(
        "backends",
        "Machine",
        "List runtimes, devices and how to install them.",
        only_prints=("",),
    ),
)
PAGE = "docs/backends.md"
