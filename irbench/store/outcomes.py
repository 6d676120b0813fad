"""From a run's document to its line in a listing."""

from __future__ import annotations

from irbench.result import CellResult, GroupResult, RunDocument, State, row_names
from irbench.store.entries import RunEntry

__all__ = ["entry_of"]

_GRAVEST: tuple[State, ...] = ("mismatch", "failed", "interrupted")
_NOT_MEASURED = "not measured"


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
        winners=tuple(_outcome(group) for group in document.groups if group.winner is not None),
        outcomes=tuple(dict.fromkeys(map(_outcome, document.groups))) or (_NOT_MEASURED,),
        measured=any(cell.latency_ms is not None for cell in cells),
        launches=len(document.launches),
        complete=document.complete,
    )


def _outcome(group: GroupResult) -> str:
    """Return who won by how much, or who leads without having won, or why there is nobody."""
    names = row_names(group.cells)
    if group.winner is not None:
        return f"{names[group.winner.cell]} {group.winner.value:.2f}x {names[group.winner.rival]}"
    ranking = sorted(((_standing(cell, group), cell.id) for cell in group.cells), reverse=True)
    ranked = [(value, names[cell]) for value, cell in ranking if value > 0]
    if len(ranked) > 1:
        (best, leader), (second, rival), *_ = ranked
        return f"{'preview' if group.preview else 'no winner'}: {leader} {best / second:.2f}x {rival}"
    for cell in group.cells:
        if cell.state == "ok" and cell.latency_ms is not None:
            return f"only {names[cell.id]}: {cell.latency_ms.p50:.3g} ms"
    states = {cell.state for cell in group.cells}
    return next((state for state in _GRAVEST if state in states), _NOT_MEASURED)


def _standing(cell: CellResult, group: GroupResult) -> float:
    """Return a cell's speedup over the baseline; 0 where the two are not compared."""
    if cell.state != "ok":
        return 0.0
    if cell.id == group.baseline:
        return 1.0
    return cell.speedup.value if cell.speedup is not None else 0.0
