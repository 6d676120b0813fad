"""One line of a listing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irbench.result import RunDocument

__all__ = ["RunEntry", "entry_of"]


@dataclass(frozen=True)
class RunEntry:
    """One stored run, as listings show it.

    Attributes:
        run_id: Its ULID.
        created: ISO 8601, UTC.
        folder: Where it lies.
        models: Names of the models.
        rows: Labels of the rows, such as ``ort x4``.
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
    return RunEntry(
        run_id=document.run_id,
        created=document.created,
        folder=folder,
        models=tuple(dict.fromkeys(group.model for group in document.groups)),
        rows=tuple(dict.fromkeys(cell.label for cell in cells)),
        backends=tuple(dict.fromkeys(cell.backend for cell in cells)),
        winners=tuple(_winners(document)),
        launches=len(document.launches),
        complete=document.complete,
    )


def _winners(document: RunDocument) -> Iterator[str]:
    for group in document.groups:
        labels = {cell.id: cell.label for cell in group.cells}
        if group.winner is not None:
            yield f"{labels[group.winner.cell]} {group.winner.value:.2f}x {labels[group.winner.rival]}"
