"""A made-up history with a confirmed loss."""

from __future__ import annotations

from pathlib import Path

from compared_runs import MACHINE
from documents import cell, document, group

from irbench.across_runs.history import ModelHistory, history_of
from irbench.across_runs.problems import Problem
from irbench.across_runs.reading import CheckedRun

LEVELS_MS = (37.0, 37.2, 36.9, 37.1, 37.0, 36.8, 37.3, 37.1, 44.5, 44.2, 44.9, 44.6)


def history_example() -> ModelHistory:
    """Return the history of a row that became slower with another runtime."""
    runs = [_run(number, value) for number, value in enumerate(LEVELS_MS)]
    broken = Problem("unreadable", "01KAJ", {"message": "runs/01KAJ/run.json is damaged.", "hint": ""})
    return history_of("resnet50", runs, problems=[broken])


def _run(number: int, p50: float) -> CheckedRun:
    version = "1.22.0" if number < 8 else "1.23.0"
    made = document(
        group(cell("ort", p50)),
        run_id=f"01KAJ3WQ4R8Z6M1X0V9T7S5{number:03d}",
        created=f"2025-11-{number + 1:02d}T02:29:01+00:00",
        environment={**MACHINE, "distributions": {"onnxruntime": version}},
        plan={},
    )
    return CheckedRun(Path(), made)
