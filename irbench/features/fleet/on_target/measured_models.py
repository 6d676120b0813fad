"""A model on its target, measured by a command of irbench that no plan has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from irbench.api.progress import Reporter
from irbench.errors import IrbenchError
from irbench.features.fleet.asked_models import keywords_of
from irbench.features.fleet.jobs import with_places
from irbench.features.fleet.messages import JobRequest, TableOutcome, Tuned
from irbench.features.fleet.on_target.files import FILES
from irbench.features.plan.expansion import SweepTable
from irbench.features.serve.options import SERVE, ServeOptions
from irbench.features.serve.run import refuse_wait_for_one, serving_plan
from irbench.features.tune.options import TUNE, TuneOptions
from irbench.features.tune.run import tune_with
from irbench.options.run import RunOptions
from irbench.requests.run_requests import LONGEST_NAME
from irbench.runs.exit_codes import exit_code
from irbench.runs.measurement import measure

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
    own, shared = TUNE.read(_keywords(request, folder))
    run = _run_options(request, folder, shared)
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
        new_tokens=report.new_tokens,
    )
    runs = tuple(run for run in (report.confirmation_run, report.search_run) if run)
    outcome = TableOutcome(request.tables[0].id, next(iter(runs), ""), int(tuning.exit_code), tuned=found)
    return (outcome,), runs


def served(request: JobRequest, folder: Path, reporter: Reporter) -> Measured:
    """Give a model requests as they arrive; takes, returns and raises what :func:`tuned` does."""
    own, shared = SERVE.read(_keywords(request, folder))
    run = _run_options(request, folder, shared)
    plan = serving_plan(ServeOptions(**own), run)
    document = measure(run, reporter, plan, refuse_wait_for_one).document
    if document.was_interrupted:
        raise IrbenchError("The job was interrupted on its target.", hint="Go on with --resume.")
    code = int(exit_code(document, strict=False))
    return (TableOutcome(request.tables[0].id, document.run_id, code),), (document.run_id,)


def _run_options(request: JobRequest, folder: Path, shared: Mapping[str, Any]) -> RunOptions:
    (table,) = request.tables
    return RunOptions(
        models=(_model(request, folder),),
        command=("irbench", request.command),
        results=folder / "results",
        name=f"{request.name} {table.label}"[:LONGEST_NAME].strip(),
        **shared,
    )


def _placed(request: JobRequest) -> SweepTable:
    (table,) = with_places(request.tables, request.places)
    return table


def _keywords(request: JobRequest, folder: Path) -> dict[str, Any]:
    return keywords_of(_placed(request), folder / FILES)


def _model(request: JobRequest, folder: Path) -> str:
    (model,) = _placed(request).values("models")
    return str(folder / FILES / str(model))
