"""How long the tables of a plan take: at most, and as stored runs of the same rows have shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irbench.across_runs.measured_cells import CellKey, key_of
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.exporter.foreign import name_of_file
from irbench.features.plan.expansion import DEFAULTS, Settings, SweepCell, SweepTable, select
from irbench.features.plan.problems import problems_here
from irbench.features.plan.reading import PlanSource, read_plan
from irbench.features.plan.report import ExpandedPlan
from irbench.features.plan.table_options import SweepSetup, table_options
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.options.run import RunOptions
from irbench.options.values import cpus as read_cpus
from irbench.requests.run_requests import budget_s, total_threads
from irbench.spec import Timing
from irbench.stats.launch_planning import parts_of
from irbench.store.folders import default_root
from irbench.store.listing import list_runs
from irbench.store.runs import load_document

_MOST_RUNS = 200
"""The newest runs that are looked into: reading thousands would take longer than anyone waits for a plan."""
_ANY: Mapping[str, Any] = {"shapes": (), "kind": "", "io": "copy"}
"""What the time of a table is looked up without: a plan does not tell it, or it changes the time little."""


def most_seconds(tables: Sequence[SweepTable], setup: SweepSetup) -> dict[str, float]:
    """Return the time limit of each table by its id, in seconds; exports and optimising come on top."""
    return {table.id: _most_seconds(table, table_options(table, setup)) for table in tables}


def _most_seconds(table: SweepTable, options: RunOptions) -> float:
    parts = parts_of(table.row_count, Timing.most_cells) if options.budget is None else 1
    return budget_s(options) * parts


def expected_seconds(tables: Sequence[SweepTable], setup: SweepSetup) -> dict[str, float]:
    """Return how long tables took by their ids, in seconds, as far as stored runs have rows with the same settings."""
    rows = dict(_stored_rows(setup.results, {_name(cell) for table in tables for cell in table.cells}))
    known = ([rows.get(key) if (key := _key_of(cell)) else None for cell in table.cells] for table in tables)
    return {
        table.id: sum(filter(None, seconds)) * table.row_count / len(table.cells)
        for table, seconds in zip(tables, known, strict=True)
        if all(seconds)
    }


def _stored_rows(root: Path, models: set[str]) -> Iterator[tuple[CellKey, float]]:
    entries = [entry for entry in list_runs(root).entries if models.intersection(entry.models)]
    for entry in reversed(entries[:_MOST_RUNS]):
        try:
            groups = load_document(Path(entry.folder)).groups
        except IrbenchError:
            continue  # the listing says what is wrong with it
        for group in groups:
            for cell in group.cells:
                yield replace(key_of(group, cell), **_ANY), group.seconds / len(group.cells)


def _key_of(cell: SweepCell) -> CellKey | None:
    """Return the key of the row that a cell becomes; ``None`` where that is known only when it is measured."""
    settings: Settings = {**DEFAULTS, "batch": 1, "precision": "fp32", **cell.settings}
    if "backends" not in settings:
        return None
    address = BackendAddress.parse(str(settings["backends"]))
    recipe = variant(str(settings["optimize"]))
    return CellKey(
        model=_name(cell),
        backend=address.name,
        device=address.device,
        precision=str(settings["precision"]) if recipe.conversion is None else recipe.conversion.precision,
        streams=settings["streams"],
        threads=_threads(settings),
        batch=settings["batch"],
        variant="" if recipe.name == UNOPTIMIZED else recipe.name,
        instances=settings["instances"],
        **_ANY,
    )


def _threads(settings: Mapping[str, Any]) -> int | None:
    cpus = None if "cpus" not in settings else read_cpus(str(settings["cpus"]))
    threads = total_threads(settings.get("threads"), cpus)
    return threads if threads is None or "threads" in settings else max(1, threads // int(settings["instances"]))


def _name(cell: SweepCell) -> str:
    model = str(cell.settings.get("models", ""))
    return name_of_file(Path(model)) if model.endswith(".onnx") else model


def expanded_plan(
    source: PlanSource, only: Sequence[str] = (), skip: Sequence[str] = (), results: Path | None = None
) -> ExpandedPlan:
    """Return the tables of a plan and how long they take; nothing is measured or exported."""
    plan = read_plan(source)
    tables = select(plan.expansion, only, skip).tables
    setup = SweepSetup(plan.name, plan.folder, results or default_root())
    problems = tuple(problems_here(tables, setup))
    return ExpandedPlan(tables, expected_seconds(tables, setup), most_seconds(tables, setup), problems)
