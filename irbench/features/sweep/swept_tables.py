"""One table of a sweep: the options that ask for it, its rows, and what is kept of it when it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from irbench.api.progress import Reporter
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, distinguish, name_of
from irbench.features.plan.expansion import DEFAULTS, Settings, SweepTable
from irbench.features.sweep.curve import RowFacts
from irbench.features.sweep.state import TableDone
from irbench.measure.lock import MeasurementLock
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.options.run import RunOptions, option_of_key, run_options
from irbench.requests.run_requests import LONGEST_NAME, refuse_contradictions, requested
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import is_at_level
from irbench.runs.exit_codes import exit_code, is_undecided
from irbench.runs.measurement import StoredRun, measure_planned, plan_run
from irbench.runs.run_destination import RunDestination
from irbench.spec import Bundle, Cell
from irbench.worker.scratch import scratch_folder

_PATH_ENDINGS = (".onnx", ".keras", ".h5")


@dataclass(frozen=True)
class SweepSetup:
    """What all tables of a sweep have in common besides their plan."""

    name: str
    folder: Path
    results: Path
    no_lock: bool = False
    command: tuple[str, ...] = ()


def table_options(table: SweepTable, setup: SweepSetup) -> RunOptions:
    """Return the options that ask for a table: all combinations of its cells' settings."""
    settings: dict[str, Any] = {**table.shared, **{key: list(table.values(key)) for key in table.compare}}
    models = [_path(str(model), setup.folder) for model in table.values("models")]
    data = settings.get("data")
    if data is not None:
        settings["data"] = str(setup.folder / data)
    keywords = {option_of_key(key): value for key, value in settings.items() if key != "models"}
    return replace(
        run_options(models, keywords, "sweep"),
        results=setup.results,
        no_lock=setup.no_lock,
        command=setup.command,
        name=f"{setup.name} {table.label}"[:LONGEST_NAME].strip(),
    )


def measure_table(
    table: SweepTable, setup: SweepSetup, destination: RunDestination, lock: MeasurementLock, reporter: Reporter
) -> StoredRun:
    """Measure one table of a sweep and return the run that holds it."""
    options = table_options(table, setup)
    refuse_contradictions(options)
    rows = None if _is_complete(table) else _Rows(table).keep
    with scratch_folder() as scratch:
        request, groups = plan_run(requested(options), options, scratch, reporter, rows)
        return measure_planned(request, groups, scratch, destination, lock, reporter)


def table_done(table: SweepTable, stored: StoredRun) -> TableDone:
    """Return what a sweep keeps of a table that was measured."""
    document = stored.document
    return TableDone(
        table=table.id,
        run=document.run_id,
        exit_code=int(exit_code(document, strict=False)),
        batch=document.tables[0].batch if document.tables else 0,
        seconds=sum(group.seconds for group in document.groups) + sum(cold.seconds for cold in document.cold_starts),
        rows=tuple(_row_facts(document.groups)),
        busy=any(group.is_mostly_disturbed for group in document.groups),
        undecided=is_undecided(document),
    )


def _row_facts(groups: Sequence[GroupResult]) -> Iterable[RowFacts]:
    """Yield the rows of all groups of a run; no two have one name."""
    rows = {(number, cell.id): (group, cell) for number, group in enumerate(groups) for cell in group.cells}
    names = distinguish({place: name_of(cell, cell.model or group.model) for place, (group, cell) in rows.items()})
    for place, (_, cell) in rows.items():
        failure = "" if cell.failure is None else cell.failure.message
        yield RowFacts(names[place], cell.state, cell.fps, _peak_bytes(cell), failure)


def _peak_bytes(cell: CellResult) -> int | None:
    return None if not cell.peak_memory_bytes else max(cell.peak_memory_bytes.values())


def _path(model: str, folder: Path) -> str:
    """Return a model's name as it is, and a path as it is seen from the folder of the plan."""
    is_path = "/" in model or model.endswith(_PATH_ENDINGS)
    return str(folder / model) if is_path else model


def _is_complete(table: SweepTable) -> bool:
    return len(table.cells) == prod(len(table.values(key)) for key in table.compare)


class _Rows:
    """Knows which rows of a run are cells of a table that lacks some combinations."""

    def __init__(self, table: SweepTable) -> None:
        self._wanted = [cell.settings for cell in table.cells]
        self._models = tuple(map(str, table.values("models")))

    def keep(self, request: RunRequest, groups: tuple[PlannedGroup, ...]) -> tuple[PlannedGroup, ...]:
        """Return the groups without rows that are not cells, and without groups that have no cell."""
        kept = (self._kept(request, planned) for planned in groups)
        return tuple(planned for planned in kept if planned.group.cells)

    def _model(self, request: RunRequest, bundle: Bundle) -> str:
        return self._models[[known == bundle for known in request.bundles].index(True)]

    def _kept(self, request: RunRequest, planned: PlannedGroup) -> PlannedGroup:
        group = planned.group
        models = {cell.id: self._model(request, group.workload_of(cell).bundle) for cell in group.cells}
        cells = tuple(
            cell for cell in group.cells if any(is_row(cell, settings, models[cell.id]) for settings in self._wanted)
        )
        return with_rows(planned, {cell.id for cell in cells})


def is_row(cell: Cell, settings: Settings, model: str) -> bool:
    """Tell whether a cell is what a row of a table asks for, at every setting that varies."""
    load = cell.load
    actual: dict[str, object] = {
        "models": model,
        "batch": load.batch,
        "streams": load.streams,
        "instances": load.instances,
        "threads": load.threads or "native",
    }
    if cell.program is None:  # the plan's backends say nothing of the user's own code
        actual["backends"] = str(cell.address)
    same = all(settings.get(key, DEFAULTS.get(key, value)) == value for key, value in actual.items())
    return same and _is_level(cell, settings)


def _is_level(cell: Cell, settings: Settings) -> bool:
    """Return whether a row runs the graph and the precision of a cell; a converted graph runs in its own precision."""
    level = str(settings.get("optimize", UNOPTIMIZED))
    if not is_at_level(cell, level):
        return False
    is_converted = variant(level).conversion is not None
    return is_converted or settings.get("precision", cell.load.precision) == cell.load.precision
