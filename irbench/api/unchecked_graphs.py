"""Optimised graphs of a run that were compared with their originals only in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.notices import Note
from irbench.optimizer import read_lineage
from irbench.runner.plan import PlannedGroup

__all__ = ["unchecked_graphs"]


def unchecked_graphs(groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each optimised graph of which a branch or loop was not compared with the original."""
    cells = [(cell, group.group.workload_of(cell)) for group in groups for cell in group.measured]
    graphs = {
        (workload.bundle.name, cell.artifact.variant): cell.artifact.path
        for cell, workload in cells
        if cell.artifact is not None and cell.artifact.variant
    }
    for (model, name), path in graphs.items():
        lineage = read_lineage(path)
        if lineage is not None and lineage.checked is not None and lineage.checked.unchecked:
            parts = len(lineage.checked.unchecked)
            yield Note("graph-partly-unchecked", {"model": model, "variant": name, "parts": parts})
