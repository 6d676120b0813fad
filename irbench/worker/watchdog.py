"""Kills workers whose coordinator is gone, frozen ones and their children included.

The parent-death signal of the kernel fires when the *thread* that started a process ends and
does not reach grandchildren. A process that holds the reading end of a pipe notices
however the coordinator died, and kills whole process groups.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
from functools import cache

__all__ = ["Watchdog", "watchdog"]


class Watchdog:
    """The coordinator's end: says which process groups are to die with it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def guard(self, process_group: int) -> None:
        """Kill this group when the coordinator ends."""
        self._say(f"+{process_group}\n")

    def release(self, process_group: int) -> None:
        """Forget this group: it was ended and waited for, and its number may be used again."""
        self._say(f"-{process_group}\n")

    def close(self) -> None:
        """Let the watchdog end; it kills what it still guards."""
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the kernel's parent-death signal is left
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


@cache
def watchdog() -> Watchdog:
    """Return this process's watchdog, started at its first use and ended with the process."""
    one = Watchdog()
    atexit.register(one.close)
    return one


def watch() -> None:
    """Run in the watchdog's own process until the coordinator's end of the pipe closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    watch()
