"""One table of a sweep: its rows, and what is kept of it when it is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from irbench.across_runs.measured_cells import CellKey, key_of
from irbench.api.progress import Reporter
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, distinguish, name_of
from irbench.features.plan.expansion import DEFAULTS, Settings, SweepTable
from irbench.features.plan.table_options import SweepSetup, table_options
from irbench.measure.clock import Stopwatch
from irbench.measure.lock import MeasurementLock
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.requests.run_requests import refuse_contradictions, requested
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runner.requested_cells import is_at_level
from irbench.runs.exit_codes import exit_code, is_undecided
from irbench.runs.measurement import StoredRun, measure_planned, plan_run
from irbench.runs.run_destination import RunDestination
from irbench.spec import Bundle, Cell
from irbench.stats.rederive import planned_timing, ratio_of_rows
from irbench.store.runs import read_launches
from irbench.store.sweeps import BatchGain, RowFacts, TableDone
from irbench.worker.scratch import scratch_folder


def measure_table(
    table: SweepTable, setup: SweepSetup, destination: RunDestination, lock: MeasurementLock, reporter: Reporter
) -> StoredRun:
    """Measure one table of a sweep and return the run that holds it."""
    watch, options = Stopwatch(), table_options(table, setup)
    refuse_contradictions(options)
    rows = None if _is_complete(table) else _Rows(table).keep
    with scratch_folder() as scratch:
        request, groups = plan_run(requested(options), scratch, reporter, rows)
        return measure_planned(request, groups, scratch, destination, lock, reporter, watch=watch)


def table_done(table: SweepTable, stored: StoredRun) -> TableDone:
    """Return what a sweep keeps of a table that was measured."""
    document = stored.document
    return TableDone(
        table=table.id,
        run=document.run_id,
        exit_code=int(exit_code(document, strict=False)),
        batch=table.batch if table.step is not None else document.tables[0].batch if document.tables else 0,
        seconds=sum(group.seconds for group in document.groups) + sum(cold.seconds for cold in document.cold_starts),
        rows=tuple(_row_facts(table, stored)),
        undecided=is_undecided(document),
    )


def _row_facts(table: SweepTable, stored: StoredRun) -> Iterator[RowFacts]:
    """Yield the rows of all groups of a run, in a curve those of its own batch; no two have one name."""
    groups = stored.document.groups
    rows = {
        (number, cell.id): (group, cell)
        for number, group in enumerate(groups)
        for cell in group.cells
        if table.batch_before is None or cell.batch == table.batch
    }
    names = distinguish({place: name_of(cell, cell.model or group.model) for place, (group, cell) in rows.items()})
    for place, (group, cell) in rows.items():
        failure = "" if cell.failure is None else cell.failure.message
        gained = None if table.batch_before is None else _gain(group, cell, table.batch_before, place[0], stored)
        yield RowFacts(names[place], cell.state, cell.fps, _peak_bytes(cell), failure, gained)


def _gain(group: GroupResult, row: CellResult, before: int, number: int, stored: StoredRun) -> BatchGain | None:
    """Return what a row's batch adds to the throughput of the batch before, of the same row in the same table."""
    key = _of_any_batch(group, row)
    smaller = next((own for own in group.cells if own.batch == before and _of_any_batch(group, own) == key), None)
    if smaller is None or not row.fps or not smaller.fps or {row.state, smaller.state} != {"ok"}:
        return None
    records = [item for item in read_launches(stored.folder, stored.document) if item.group == number]
    ratio = ratio_of_rows(group, row, smaller, records, planned_timing(stored.document.plan)) if records else None
    if ratio is None:
        return BatchGain(row.fps / smaller.fps - 1, fps_before=smaller.fps)
    is_known = ratio.confidence is not None and group.uneven_load is None
    low, high = (math.expm1(end) if is_known else None for end in (ratio.low, ratio.high))
    return BatchGain(math.expm1(ratio.value), low, high, smaller.fps)


def _of_any_batch(group: GroupResult, row: CellResult) -> CellKey:
    return replace(key_of(group, row), batch=0, shapes=())


def _peak_bytes(cell: CellResult) -> int | None:
    return (cell.peak_memory_bytes or {}).get("process")


def _is_complete(table: SweepTable) -> bool:
    return len(table.cells) == math.prod(len(table.values(key)) for key in table.compare)


class _Rows:
    """Knows which rows of a run are cells of a table that lacks some combinations."""

    def __init__(self, table: SweepTable) -> None:
        self._wanted = [cell.settings for cell in table.cells]
        self._before = table.batch_before
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
            cell
            for cell in group.cells
            if any(is_row(cell, self._at_batch(cell, settings), models[cell.id]) for settings in self._wanted)
        )
        return with_rows(planned, {cell.id for cell in cells})

    def _at_batch(self, cell: Cell, settings: Settings) -> Settings:
        """Return the settings of a cell with the batch before in a curve, where that is the row's."""
        return {**settings, "batch": self._before} if cell.load.batch == self._before else settings


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
