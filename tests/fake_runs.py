"""Runs of the scripted backends through the front door, and their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from front_door import Called, irbench

FASTEST = ("--quick", "--budget", "1s")
"""The budget is used up by the first launch, which is enough where a test is not about intervals."""


def run(model: Path, *arguments: object) -> Called:
    """Compare the two scripted backends in a single launch."""
    return irbench("run", model, "--backends", "fake-a,fake-b", "--format", "json", *FASTEST, *arguments)


def cell(called: Called, backend: str) -> dict[str, Any]:
    """Return a backend's only row."""
    found: dict[str, Any]
    (found,) = [one for one in called.document["groups"][0]["cells"] if one["backend"] == backend]
    return found
