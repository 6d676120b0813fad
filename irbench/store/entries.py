"""One line of a listing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irbench.result import RunDocument, row_names

__all__ = ["RunEntry", "entry_of"]


@dataclass(frozen=True)
class RunEntry:
    """One stored run, as listings show it.

    Attributes:
        run_id: Its ULID.
        created: ISO 8601, UTC.
        folder: Where it lies.
        models: Names of the models.
        rows: Names of the rows, such as ``ort x4``, or ``ort fp32`` where one ran in several precisions.
        backends: Names of the backends, without device or streams.
        winners: Who won by how much, one sentence for each table that has a winner.
        launches: How many launches are stored.
        complete: Whether it ended by itself.
    """

    run_id: str
    created: str
    folder: str
    models: tuple[str, ...]
    rows: tuple[str, ...]
    backends: tuple[str, ...]
    winners: tuple[str, ...]
    launches: int
    complete: bool


def entry_of(document: RunDocument, folder: str) -> RunEntry:
    """Return what listings show of a run."""
    cells = [cell for group in document.groups for cell in group.cells]
    rows = (name for group in document.groups for name in row_names(group.cells).values())
    return RunEntry(
        run_id=document.run_id,
        created=document.created,
        folder=folder,
        models=tuple(dict.fromkeys(group.model for group in document.groups)),
        rows=tuple(dict.fromkeys(rows)),
        backends=tuple(dict.fromkeys(cell.backend for cell in cells)),
        winners=tuple(_winners(document)),
        launches=len(document.launches),
        complete=document.complete,
    )


def _winners(document: RunDocument) -> Iterator[str]:
    for group in document.groups:
        if group.winner is not None:
            names = row_names(group.cells)
            yield f"{names[group.winner.cell]} {group.winner.value:.2f}x {names[group.winner.rival]}"
