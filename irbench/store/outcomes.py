"""From a run's document to its line in a listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irbench.result import GroupResult, NoWinner, RunDocument, State, row_names
from irbench.store.entries import RunEntry

__all__ = ["entry_of"]

_GRAVEST: tuple[State, ...] = ("mismatch", "failed", "interrupted")
_NOT_MEASURED = "not measured"
_WHY_NOT: Mapping[NoWinner, str] = {
    "preview": "preview: {leader} {ratio:.2f}x {rival}",
    "same": "{leader} and {rival} the same",
    "undecided": "{leader} and {rival} undecided",
    "busy": "machine too busy",
    "all-blocks-disagree": "{leader} and {rival} contradictory",
    "throughput-disagrees": "{leader} and {rival} contradictory",
    "sustained-disagrees": "{leader} and {rival} contradictory",
}
"""What a listing says of a table without a winner."""


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


def _outcome(group: GroupResult) -> str:
    """Return who won by how much, or what stands above the table for want of a winner, or why there is nobody."""
    names = row_names(group.cells)
    doubt = ", unverified" if group.unverified else ""
    if group.winner is not None:
        return f"{names[group.winner.cell]} {group.winner.value:.2f}x {names[group.winner.rival]}{doubt}"
    if group.lead is not None and group.lead.reason is not None:
        leader, rival = names[group.lead.cell], names[group.lead.rival]
        return f"{_WHY_NOT[group.lead.reason].format(leader=leader, rival=rival, ratio=group.lead.value)}{doubt}"
    for cell in group.cells:
        if cell.state == "ok" and cell.latency_ms is not None:
            return f"only {names[cell.id]}: {cell.latency_ms.p50:.3g} ms"
    states = {cell.state for cell in group.cells}
    return next((state for state in _GRAVEST if state in states), _NOT_MEASURED)
