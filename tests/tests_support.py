"""Functions that tests run inside workers."""

from __future__ import annotations

import os
import signal
import subprocess


def start_sleeper() -> int:
    """Start a child that sleeps for an hour, and return its process id."""
    return subprocess.Popen(["sleep", "3600"]).pid


def say_and_die(text: str, number: int) -> None:
    """Print a line and die by a signal."""
    os.write(2, f"{text}\n".encode())
    os.kill(os.getpid(), signal.Signals(number))
