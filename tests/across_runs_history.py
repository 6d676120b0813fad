"""A made-up history with a confirmed loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compared_runs import MACHINE
from documents import cell, document, group

from irbench.across_runs.checked_runs import Error, Unreadable
from irbench.across_runs.summaries import SummarisedRun, summary_of
from irbench.core.result import RunDocument
from irbench.features.history.report import ModelHistory, history_of

LEVELS_MS = (37.0, 37.2, 36.9, 37.1, 37.0, 36.8, 37.3, 37.1, 44.5, 44.2, 44.9, 44.6)


def history_example() -> ModelHistory:
    """Return the history of a row that became slower with another runtime."""
    versions = ["1.22.0" if number < 8 else "1.23.0" for number in range(len(LEVELS_MS))]
    days = enumerate(zip(LEVELS_MS, versions, strict=True))
    runs = [run(number, value, distributions={"onnxruntime": version}) for number, (value, version) in days]
    broken = Unreadable("01KAJ", Error("runs/01KAJ/run.json is damaged.", ""))
    return history_of_documents("resnet50", runs, problems=[broken])


@dataclass(frozen=True)
class _KnownRun(SummarisedRun):
    """A run that lies nowhere."""

    known: RunDocument

    def document(self) -> RunDocument:
        return self.known


def history_of_documents(model: str, documents: Sequence[RunDocument], *machine: str, **asked: Any) -> ModelHistory:
    """Return the history of runs that lie nowhere."""
    runs = [_KnownRun(Path(), summary_of(document), document) for document in documents]
    return history_of(model, runs, *machine, **asked)


def run(number: int, p50: float, *, row: dict[str, Any] | None = None, **environment: Any) -> RunDocument:
    """Return the run of a day, whose only row took so many milliseconds."""
    return document(
        group(cell("ort", p50, **(row or {}))),
        run_id=f"01KAJ3WQ4R8Z6M1X0V9T7S5{number:03d}",
        created=f"2025-11-{number % 28 + 1:02d}T02:29:01+00:00",
        environment={**MACHINE, **environment},
        plan={},
    )
