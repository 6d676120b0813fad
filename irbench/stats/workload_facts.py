"""What tables and rows say of what was run: the shapes of inputs, inputs that were given, and the work achieved."""

from __future__ import annotations

from typing import Any, TypeVar

from irbench.core.row import GivenInputs, TableHead
from irbench.spec import Cell, Feeding, Workload


def achieved(cell: Cell, precision: str, fps: float) -> tuple[float | None, float | None]:
    """Return the 10^9 operations per second of a row, and which share of its roof that is; ``None`` if unknown."""
    if cell.work is None:
        return None, None
    rate = cell.work.operations * fps / cell.load.batch / 1e9
    roof = cell.work.roofs.get(precision)
    return rate, None if roof is None else roof.share(rate)


Table = TypeVar("Table", bound=TableHead)


def table_of(kind: type[Table], workload: Workload, **facts: Any) -> Table:
    """Return a table of any kind with what is known of its workload."""
    return kind(model=workload.bundle.name, batch=workload.batch, shapes=bound_shapes(workload), **facts)


def bound_shapes(workload: Workload) -> dict[str, tuple[int, ...]]:
    """Return the shape of each input of a workload, by its name."""
    bound = (spec.tensor.bind(workload.sizes) for spec in workload.bundle.inputs)
    return {array.name: tuple(size for size in array.shape if isinstance(size, int)) for array in bound}


def given_inputs(feeding: Feeding) -> GivenInputs | None:
    """Return what a document says of inputs; ``None`` where all are generated."""
    if not (feeding.samples or feeding.values or feeding.feedback):
        return None
    return GivenInputs(
        source=feeding.source or None,
        samples=len(feeding.samples),
        sha256=feeding.sha256,
        values=feeding.values,
        feedback=feeding.feedback,
        rows=feeding.rows,
        rows_per_call=feeding.rows_per_call,
    )
