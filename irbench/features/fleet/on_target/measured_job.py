"""One job on its target: its tables measured as a sweep, or its model by another command, and packed.

The lock of the job's folder keeps a second process waiting until the first has ended, so that launches that were stored
before are continued, and nothing is measured twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from irbench.api.progress import Reporter
from irbench.errors import IrbenchError
from irbench.features.fleet.jobs import with_places
from irbench.features.fleet.messages import Command, JobOutcome, JobRequest, TableOutcome, packed, unpacked
from irbench.features.fleet.on_target.files import ARCHIVE, FILES, LOCK, OUTCOME, PROGRESS, REQUEST
from irbench.features.fleet.on_target.measured_models import Measured, served, tuned
from irbench.features.plan.expansion import Expansion
from irbench.features.plan.reading import SweepPlan
from irbench.features.sweep.options import SweepOptions
from irbench.features.sweep.report import Sweep
from irbench.features.sweep.run import run_sweep
from irbench.measure.lock import AlreadyMeasuring
from irbench.store.archives import pack
from irbench.store.listing import find_run
from irbench.system.file_access import write_atomically
from irbench.system.locks import waiting_for


def measure_job(folder: Path) -> None:
    """Measure the job in a folder, or go on with it, and write its outcome there."""
    with waiting_for(folder / LOCK):
        write_atomically(folder / OUTCOME, packed(_outcome(folder)))


def _outcome(folder: Path) -> JobOutcome:
    request = unpacked((folder / REQUEST).read_bytes(), JobRequest, "The coordinator")
    try:
        with (folder / PROGRESS).open("a", encoding="utf-8") as log:
            reporter = Reporter(partial(print, file=log, flush=True), lambda _progress: None)
            tables, runs = _MEASURES[request.command](request, folder, reporter)
    except AlreadyMeasuring as error:
        return JobOutcome(kind="busy", message=error.message, hint=error.hint)
    except IrbenchError as error:
        return JobOutcome(kind="refused", message=" ".join((error.message, *error.details)), hint=error.hint)
    if runs:
        pack([find_run(folder / "results", run) for run in runs], folder / ARCHIVE)
    return JobOutcome(kind="measured", tables=tables)


def _swept(request: JobRequest, folder: Path, reporter: Reporter) -> Measured:
    tables = with_places(request.tables, request.places)
    plan = SweepPlan(request.name, folder / FILES, {"job": request.job}, Expansion(tables, seed=0))
    options = SweepOptions(resume=True, results=folder / "results", command=("irbench", "sweep"))
    sweep, ended = run_sweep(plan, options, reporter)
    if not ended:
        raise IrbenchError("The job was interrupted on its target.", hint="Go on with --resume.")
    outcomes = tuple(_tables(request, sweep))
    return outcomes, tuple(outcome.run for outcome in outcomes if outcome.run)


def _tables(request: JobRequest, sweep: Sweep) -> Iterator[TableOutcome]:
    """Yield what came of each table, by the id that it has in the plan."""
    ids = {
        placed.id: table.id
        for placed, table in zip(with_places(request.tables, request.places), request.tables, strict=True)
    }
    for shown in sweep.overview.tables:
        run = shown.run if shown.status == "done" else ""
        yield TableOutcome(ids[shown.table.id], run, shown.exit_code, shown.message, shown.hint)


_MEASURES: Mapping[Command, Callable[[JobRequest, Path, Reporter], Measured]] = {
    "sweep": _swept,
    "tune": tuned,
    "serve": served,
}
"""What measures the tables of a job, by their command: each returns what came of them, and the ids of their runs."""
