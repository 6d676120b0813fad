"""From a run's document to its line in a listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
        name=str(document.plan.get("name") or ""),
        note=str(document.plan.get("note") or ""),
        batches=tuple(dict.fromkeys(group.batch for group in document.groups)),
        streams=tuple(dict.fromkeys(cell.requested.streams for cell in cells)),
        threads=next((cell.requested.threads for cell in cells), None),
        precisions=tuple(
            dict.fromkeys(str(cell.effective.get("precision", cell.requested.precision)) for cell in cells)
        ),
        machine=_machine(document.environment),
    )


def _machine(environment: Mapping[str, Any]) -> str:
    cpu, count = environment.get("cpu"), environment.get("cpus_allowed")
    model = cpu.get("Model name", "") if isinstance(cpu, Mapping) else ""
    return f"{model} x{count}" if model and count else str(model)


def _outcome(group: GroupResult) -> Outcome:
    """Return who won by how much, or who leads and why it is no winner, or why there is nobody."""
    names = row_names(group.cells)
    lead = group.lead or group.winner  # a document from before leads were stored has winners alone
    if lead is not None:
        result: OutcomeKind = "winner" if group.winner is not None else _why_not(group)
        return Outcome(result, names[lead.cell], names[lead.rival], lead.value, unverified=group.unverified)
    for cell in group.cells:
        if cell.state == "ok" and cell.latency_ms is not None:
            return Outcome("only", names[cell.id], p50_ms=cell.latency_ms.p50)
    states = {cell.state for cell in group.cells}
    gravest: list[OutcomeKind] = [state for state in _GRAVEST if state in states]
    return Outcome(gravest[0] if gravest else "not-measured")


def _why_not(group: GroupResult) -> OutcomeKind:
    return "undecided" if group.lead is None or group.lead.reason is None else group.lead.reason
