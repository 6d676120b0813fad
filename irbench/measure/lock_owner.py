"""Which process holds a lock, as the kernel says: what stands in the lock's file anybody may have written."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable
from pathlib import Path

_LOCKS = Path("/proc/locks")


def lock_owner(found: os.stat_result, lines: Iterable[str] | None = None) -> int | None:
    """Return the number of the process that holds a file's lock; ``None`` where the kernel does not report it.

    Args:
        found: Of the file.
        lines: Of ``/proc/locks``, which are read unless given: ``1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF``.
    """
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        for line in _LOCKS.read_text().splitlines() if lines is None else lines:
            words = line.split()
            if len(words) == 8 and words[1] == "FLOCK" and words[5] == place and int(words[4]) > 0:
                return int(words[4])
    except (OSError, ValueError):
        pass
    return None


def owner_text(process: int) -> str:
    """Return ``Process 4711 of user bob``, as far as it is known whose it is."""
    try:
        user = Path(f"/proc/{process}").stat().st_uid
    except OSError:
        return f"Process {process}"
    try:
        return f"Process {process} of user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"Process {process} of user {user}"
