"""The table of a tour through the zoo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irbench.core.quantities import error_size, significant
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.render.table import Row, TableColumn, TextTable
from irbench.spi import ModelSource


@dataclass(frozen=True)
class Tour:
    """What became of one model.

    Attributes:
        name: Of the model.
        source: What the zoo says of it.
        nodes: Of its graph as exported, and of the optimised one.
        group: What was measured.
        prepared_s: Seconds until the optimised graph was there.
        failure: Why there is nothing of that.
    """

    name: str
    source: ModelSource | None = None
    nodes: tuple[int, int] = (0, 0)
    group: GroupResult | None = None
    prepared_s: float = 0.0
    failure: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every cell was measured and answers rightly."""
        return self.group is not None and all(cell.state == "ok" for cell in self.group.cells)


def as_table(tours: Sequence[Tour]) -> TextTable:
    """Return a row for each model, with a column for every cell that any of them was measured in.

    Latencies are p50 in milliseconds; ``max err`` is the worst of a model's cells.
    """
    labels = list(dict.fromkeys(cell.label for tour in tours if tour.group for cell in tour.group.cells))
    labels.sort(key=lambda label: (label.partition("+")[0] != "tf", label))
    columns = (
        TableColumn("model", words=True),
        TableColumn("M params"),
        TableColumn("GMACs"),
        TableColumn("nodes"),
        TableColumn("optimised"),
        *(TableColumn(f"{label} ms") for label in labels),
        TableColumn("max err"),
        TableColumn("marks", words=True, folds=True),
    )
    return TextTable(columns, tuple(_row(tour, labels) for tour in tours))


def _row(tour: Tour, labels: Sequence[str]) -> Row:
    if tour.source is None or tour.group is None:
        return Row((tour.name,), sentence=f"failed: {tour.failure}")
    cells = {cell.label: cell for cell in tour.group.cells}
    errors = [cell.output_error.max_rel for cell in cells.values() if cell.output_error]
    return Row(
        (
            tour.name,
            _scaled(tour.source.parameters, 1e6),
            _scaled(tour.source.macs, 1e9),
            *map(str, tour.nodes),
            *(_latency(cells.get(label)) for label in labels),
            error_size(max(errors, default=None)),
            ", ".join(sorted({mark for cell in cells.values() for mark in _marks(cell)})),
        )
    )


def _scaled(count: int | None, unit: float) -> str:
    return "-" if count is None else significant(count / unit)


def _latency(cell: CellResult | None) -> str:
    return "-" if cell is None or cell.latency_ms is None else significant(cell.latency_ms.p50)


def _marks(cell: CellResult) -> list[str]:
    failed = [f"{cell.label}: {cell.failure.stage}: {cell.failure.message}"] if cell.failure else []
    return [*failed, *(f"{cell.label}: {mark.text()}" for mark in cell.marks)]
