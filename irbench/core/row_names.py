"""What rows are called in sentences: no two rows of a table alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from irbench.core.row import CellResult, Requested
from irbench.spec import Group

Place = TypeVar("Place")
"""What tells rows apart for a program: a cell id, with the number of a table where there are several."""


@dataclass(frozen=True)
class RowName:
    """What a row is called, and what else tells it from rows that are called the same.

    Attributes:
        label: Backend, variant and streams: ``openvino+basic x4``.
        model: What it runs.
        precision: The one asked for: it tells rows apart where the effective one does not, because ``native`` may turn
            out to be ``fp32``.
        batch: Samples per inference.
        threads: Asked for; ``None`` for ``native``.
    """

    label: str
    model: str
    precision: str
    batch: int
    threads: int | None

    @property
    def details(self) -> tuple[str, ...]:
        """What may follow the label, the most telling first."""
        threads = "native threads" if self.threads is None else f"{self.threads} thread{'s' * (self.threads != 1)}"
        return self.model, self.precision, f"batch {self.batch}", threads


class NamedRow(Protocol):
    """A row of any table, as far as it has a name."""

    @property
    def label(self) -> str:
        """What the table calls it."""
        ...

    @property
    def batch(self) -> int:
        """Samples per inference."""
        ...

    @property
    def requested(self) -> Requested:
        """The settings that were asked for."""
        ...


def row_names(cells: Iterable[CellResult]) -> dict[str, str]:
    """Return what sentences call each row of a table, by cell id: no two are called the same."""
    return distinguish({cell.id: name_of(cell, cell.model or "") for cell in cells})


def cell_names(group: Group) -> dict[str, str]:
    """Return the same of the cells of a group, before there is a table."""
    loads = {cell.id: (cell.label, group.workload_of(cell).bundle.name, cell.load) for cell in group.cells}
    return distinguish(
        {
            cell: RowName(label, model, load.precision, load.batch, load.threads)
            for cell, (label, model, load) in loads.items()
        }
    )


def name_of(row: NamedRow, model: str = "") -> RowName:
    """Return the name of a row.

    Args:
        row: It.
        model: What it runs; empty where all rows of the table run the same.
    """
    return RowName(row.label, model, row.requested.precision, row.batch, row.requested.threads)


def distinguish(names: Mapping[Place, RowName]) -> dict[Place, str]:
    """Return each row's label by its place, with those details in which rows of the same label differ."""
    alike: dict[str, list[RowName]] = {}
    for name in names.values():
        alike.setdefault(name.label, []).append(name)
    differing = {label: _differing(rows) for label, rows in alike.items()}
    return {
        row: " ".join((name.label, *(name.details[place] for place in differing[name.label])))
        for row, name in names.items()
    }


def _differing(names: Sequence[RowName]) -> tuple[int, ...]:
    """Return the places of the details in which names differ."""
    return tuple(
        place
        for place, details in enumerate(zip(*(name.details for name in names), strict=True))
        if len(set(details)) > 1
    )
