"""A model on its target, measured by a command of irbench that no plan has."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from irbench.api.progress import Reporter
from irbench.errors import IrbenchError
from irbench.features.fleet.asked_models import keywords_of
from irbench.features.fleet.jobs import with_places
from irbench.features.fleet.messages import JobRequest, TableOutcome, Tuned
from irbench.features.fleet.on_target.files import FILES
from irbench.features.plan.expansion import SweepTable
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.features.tune.run import tune_with
from irbench.options.run import RunOptions
from irbench.requests.run_requests import LONGEST_NAME

Measured: TypeAlias = tuple[tuple[TableOutcome, ...], tuple[str, ...]]
"""What came of the tables of a job, and the ids of the runs that hold it."""


def tuned(request: JobRequest, folder: Path, reporter: Reporter) -> Measured:
    """Search for the best setting of a model, and return what came of it with the ids of its runs.

    Args:
        request: With one table.
        folder: Of the job; runs are stored in it.
        reporter: Is told how it goes.

    Raises:
        IrbenchError: Nothing can be measured, or the search was interrupted.
    """
    (table,) = request.tables
    own, shared = TUNE.read(_keywords(request, folder))
    run = RunOptions(command=("irbench", "tune"), results=folder / "results", name=_name(request, table), **shared)
    tuning = tune_with(TuneOptions(_model(request, folder), run, **own), reporter)
    report = tuning.report
    if report.conclusion == "interrupted":
        raise IrbenchError("The search was interrupted on its target.", hint="Go on with --resume.")
    found = Tuned(
        conclusion=report.conclusion,
        setting=report.setting,
        is_confirmed=report.is_confirmed,
        deciding_budget_s=report.deciding_budget_s,
        search_run=report.search_run or "",
    )
    runs = tuple(run for run in (report.confirmation_run, report.search_run) if run)
    outcome = TableOutcome(table.id, next(iter(runs), ""), int(tuning.exit_code), tuned=found)
    return (outcome,), runs


def _name(request: JobRequest, table: SweepTable) -> str:
    return f"{request.name} {table.label}"[:LONGEST_NAME].strip()


def _placed(request: JobRequest) -> SweepTable:
    (table,) = with_places(request.tables, request.places)
    return table


def _keywords(request: JobRequest, folder: Path) -> dict[str, Any]:
    return keywords_of(_placed(request), folder / FILES)


def _model(request: JobRequest, folder: Path) -> str:
    (model,) = _placed(request).values("models")
    return str(folder / FILES / str(model))
