"""Keep what searches are replayed on: every setting of a grid, as a stored run measured it.

    python -m benchmarks.tuning_grid RUN results/reference/tuning-grids/resnet18.json

The run is one table, for example ``irbench run resnet18 --quick --batch 1,2,4,8 --threads 1,2 --streams 1,2``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from irbench.core.record import CellLaunch, LaunchRecord
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.core.stored_plan import StoredPlan
from irbench.spec import Goal, Objective
from irbench.stats.observed import observe
from irbench.stats.rederive import planned_timing, stored_group
from irbench.stats.speedups import launch_ratios
from irbench.store.folders import default_root
from irbench.store.runs import Store

OBJECTIVES: tuple[Objective, ...] = ("fps", "latency", "cost")


@dataclass(frozen=True)
class GridRow:
    """One setting of a grid.

    Attributes:
        setting: By the name of an axis.
        costs: By objective, the natural logarithm of what is compared relative to the baseline, one for each launch.
        latency_ms: Median latency of a call, over all launches.
        start_s: Process start until the end of its warm-up.
        block_s: One of its rounds.
    """

    setting: Mapping[str, str | int]
    costs: Mapping[str, Sequence[float]]
    latency_ms: float
    start_s: float
    block_s: float


@dataclass(frozen=True)
class Grid:
    """A model measured with every setting.

    Attributes:
        model: Its name.
        processor: Of the machine.
        rows: One for each setting that gave right answers.
    """

    model: str
    processor: str
    rows: tuple[GridRow, ...]


def load_grid(path: Path) -> Grid:
    """Return a grid that was kept."""
    stored = json.loads(path.read_text())
    return Grid(stored["model"], stored["processor"], tuple(GridRow(**row) for row in stored["rows"]))


def grid_of(table: GroupResult, plan: StoredPlan, records: Sequence[LaunchRecord], processor: str) -> Grid:
    """Return what is kept of a table."""
    costs = {objective: _costs(table, plan, records, objective) for objective in OBJECTIVES}
    rows = (
        GridRow(
            setting=_setting(row),
            costs={objective: [round(cost, 5) for cost in found[row.id]] for objective, found in costs.items()},
            latency_ms=round(row.latency_ms.p50, 4),
            start_s=round(_mean([_start_s(cell) for cell in _launches_of(row, records)]), 3),
            block_s=round(_mean([_block_s(cell) for cell in _launches_of(row, records)]), 4),
        )
        for row in table.cells
        if row.state == "ok" and row.latency_ms is not None
    )
    return Grid(table.model, processor, tuple(rows))


def _costs(
    table: GroupResult, plan: StoredPlan, records: Sequence[LaunchRecord], objective: Objective
) -> dict[str, tuple[float, ...]]:
    asked = stored_group(table)
    group = type(asked)(asked.workloads, asked.cells, asked.baseline, Goal(objective))
    launches = observe(group, records, planned_timing(plan))
    return {row.id: launch_ratios(launches, row.id, asked.baseline) for row in table.cells}


def _setting(row: CellResult) -> dict[str, str | int]:
    asked = row.requested
    return {
        "backend": row.backend,
        "batch": row.batch,
        "threads": asked.threads or "native",
        "streams": asked.streams,
        "instances": asked.instances,
        "precision": asked.precision,
        "level": row.artifact.partition("+")[2] or "none",
    }


def _launches_of(row: CellResult, records: Sequence[LaunchRecord]) -> list[CellLaunch]:
    return [cell for record in records for cell in record.cells if cell.cell == row.id]


def _start_s(cell: CellLaunch) -> float:
    return (cell.phases_ns.get("ready", 0) + cell.phases_ns.get("warm_up", 0)) / 1e9


def _block_s(cell: CellLaunch) -> float:
    return _mean([own.evidence.wall_ns for own in cell.rounds]) / 1e9


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.nan


@click.command()
@click.argument("run")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--results", type=click.Path(path_type=Path), help="The folder where runs are kept.")
def main(run: str, output: Path, results: Path | None) -> None:
    """Write the grid of a stored RUN to OUTPUT."""
    store = Store(results or default_root())
    folder = store.find(run)
    document = store.load(folder)
    records = [record for record in store.launches(folder) if record.group == 0]
    processor = document.environment["cpu"]["Model name"]
    grid = grid_of(document.groups[0], document.plan, records, processor)
    output.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(asdict(row)) for row in grid.rows)
    output.write_text(f'{{"model": "{grid.model}", "processor": "{grid.processor}", "rows": [\n{lines}\n]}}\n')
    click.echo(f"{len(grid.rows)} settings of {grid.model}")


if __name__ == "__main__":
    main()
