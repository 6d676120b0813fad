"""Functions that tests run inside workers."""

from __future__ import annotations

import subprocess


def start_sleeper() -> int:
    """Start a child that sleeps for an hour, and return its process id."""
    return subprocess.Popen(["sleep", "3600"]).pid
