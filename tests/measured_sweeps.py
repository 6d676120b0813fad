"""Sweeps whose tables are measured at once, with the rows that a test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import documents
import pytest
from stored_plans import stored_plan

import irbench
from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.features.plan import problems as plan_problems
from irbench.features.plan.expansion import SweepTable
from irbench.features.plan.table_options import SweepSetup
from irbench.features.sweep import execution as sweep_execution
from irbench.features.sweep.report import Sweep
from irbench.runs.measurement import StoredRun
from irbench.store.runs import Store

Answer = Callable[[SweepTable], GroupResult | tuple[GroupResult, Sequence[LaunchRecord]]]
"""A table as it is, or with its launches."""


class Measured:
    """Takes the place of what measures a table: answers at once, and remembers what it was asked for.

    Attributes:
        batches: Of the tables it was asked for, in order.
        unfinished: The run that each was to go on with.
    """

    def __init__(self, results: Path) -> None:
        self.results = results
        self.batches: list[int] = []
        self.unfinished: list[str | None] = []
        self.answer: Answer = lambda table: documents.group(documents.cell("fake-a"), batch=table.batch)

    def __call__(self, table: SweepTable, setup: SweepSetup, destination: Any, *_: Any) -> StoredRun:
        self.batches.append(table.batch)
        self.unfinished.append(destination.unfinished)
        writer = Store(self.results).begin({}, stored_plan(models=["net"], name=f"{setup.name} {table.label}"))
        destination.begun(writer.document.run_id)
        answer = self.answer(table)
        found, records = answer if isinstance(answer, tuple) else (answer, ())
        for record in records:
            writer.add_launch(record)
        complete = found.stopped_by != "interrupt"
        return StoredRun(writer.commit(replace(writer.document, groups=(found,), complete=complete)), writer.folder)


def install(results: Path, patch: pytest.MonkeyPatch) -> Measured:
    """Measure tables that way, whatever their model is, and store their runs in ``results``."""
    patch.setattr(plan_problems, "require_model", lambda *_: None)
    patch.setenv("IRBENCH_RESULTS", str(results))
    fake = Measured(results)
    patch.setattr(sweep_execution, "measure_table", fake)
    return fake


def plan(**matrix: Any) -> dict[str, Any]:
    """Return a plan with a table for each batch."""
    return {
        "name": "night",
        "compare": ["backends"],
        "defaults": {"models": "net", "backends": "fake-a"},
        "matrix": [{"batch": [1, 2, 4], **matrix}],
    }


def sweep(asked: dict[str, Any], **options: Any) -> Sweep:
    return irbench.sweep(asked, progress=None, **options)


def statuses(found: Sweep) -> dict[int, str]:
    return {shown.table.batch: shown.status for shown in found.overview.tables}
