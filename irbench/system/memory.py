"""A bound on the memory of a process that is given to one piece of work."""

from __future__ import annotations

import resource


def limit_memory(memory_bytes: int) -> None:
    """Let this process and its children allocate no more than that; what they then ask for is refused at once.

    Without a limit a machine that runs out of memory first gives up its caches, and stands still for minutes.
    """
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes if most < 0 else min(memory_bytes, most), most))
