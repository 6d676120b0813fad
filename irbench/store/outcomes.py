"""From a run's document to its line in a listing."""

from __future__ import annotations

from irbench.result import GroupResult, RunDocument, row_names
from irbench.store.entries import Outcome, OutcomeKind, RunEntry

__all__ = ["entry_of"]

_GRAVEST: tuple[OutcomeKind, ...] = ("mismatch", "failed", "interrupted")


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
        outcomes=tuple(dict.fromkeys(map(_outcome, document.groups))) or (Outcome("not-measured"),),
        measured=any(cell.latency_ms is not None for cell in cells),
        launches=len(document.launches),
        complete=document.complete,
    )


def _outcome(group: GroupResult) -> Outcome:
    """Return who won by how much, or who leads and why it is no winner, or why there is nobody."""
    names = row_names(group.cells)
    lead = group.lead or group.winner  # a document from before leads were stored has winners alone
    if lead is not None:
        kind: OutcomeKind = "winner" if group.winner is not None else _why_not(group)
        return Outcome(kind, names[lead.cell], names[lead.rival], lead.value, unverified=group.unverified)
    for cell in group.cells:
        if cell.state == "ok" and cell.latency_ms is not None:
            return Outcome("only", names[cell.id], p50_ms=cell.latency_ms.p50)
    states = {cell.state for cell in group.cells}
    return Outcome(next((state for state in _GRAVEST if state in states), "not-measured"))


def _why_not(group: GroupResult) -> OutcomeKind:
    return "undecided" if group.lead is None or group.lead.reason is None else group.lead.reason
