"""Runs of the scripted backends through the front door, and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from front_door import Called, irbench, irbench_process

FASTEST = ("--quick", "--budget", "0.01s")
"""The first launch uses up the budget on any machine, which is enough where a test is not about intervals."""
ENOUGH = ("--budget", "60m")
"""Scripted backends end a run by what their launches showed, on a machine however slow: none takes that long."""
FASTEST_PLAN = """
compare = ["backends", "streams"]
[defaults]
models = "mlp.onnx"
quick = true
budget = "0.01s"
"""
"""The beginning of a plan whose tables end as soon, one for each batch."""


def run(model: Path, *arguments: object) -> Called:
    """Compare the two scripted backends in a single launch."""
    return irbench("run", model, "--backends", "fake-a,fake-b", "--format", "json", *FASTEST, *arguments)


def run_all(model: Path, faults: Mapping[str, str], *arguments: object) -> Called:
    """Run a healthy fake-a beside one backend for each fault, in launches of slow calls.

    Calls take 20 ms of virtual time, so that the 20th to the 37th are those of rounds, whatever the number of blocks.
    There is time for all blocks: without, the first launch ends after one that counts.

    Args:
        model: What to run.
        faults: By the letter of a backend: ``fault`` or ``fault@stage``.
        arguments: Further ones of the command line.
    """
    settings: list[str] = ["--set", "fake-a.call_us=20000"]
    for letter, script in faults.items():
        fault, _, at = script.partition("@")
        for setting in ("call_us=20000", f"fault={fault}", *([f"at={at}"] if at else [])):
            settings += ["--set", f"fake-{letter}.{setting}"]
    names = ",".join(f"fake-{letter}" for letter in ("a", *faults))
    asked = ("--backends", names, "--format", "json", "--quick", *ENOUGH)
    return irbench_process("run", model, *asked, *settings, *arguments)


def cell(called: Called, backend: str) -> dict[str, Any]:
    """Return a backend's only row."""
    found: dict[str, Any]
    (found,) = [item for item in called.document["groups"][0]["cells"] if item["backend"] == backend]
    return found
