"""What must be said of the optimised graphs of a run: compared in part, or calibrated on generated inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.notices import Note
from irbench.notices.notes import GraphPartlyUnchecked
from irbench.optimizer import Lineage, calibration_note, read_lineage
from irbench.runner.plan import PlannedGroup


def graph_notes(groups: Sequence[PlannedGroup]) -> tuple[Note, ...]:
    """Return a note for each graph of which a part was not compared, then for each that generated data calibrated.

    Args:
        groups: Whose graphs; each is looked at once.
    """
    graphs = list(_optimized_graphs(groups))
    unchecked = (
        GraphPartlyUnchecked(model=model, variant=name, parts=len(lineage.checked.unchecked))
        for model, name, lineage in graphs
        if lineage.checked is not None and lineage.checked.unchecked
    )
    generated = (calibration_note(model, lineage) for model, _, lineage in graphs)
    return (*unchecked, *(note for note in generated if note is not None))


def _optimized_graphs(groups: Sequence[PlannedGroup]) -> Iterator[tuple[str, str, Lineage]]:
    """Yield each graph that was optimised for these groups once: its model, what it is called, and how it was made."""
    cells = [(cell, group.group.workload_of(cell)) for group in groups for cell in group.measured]
    graphs = {
        (workload.bundle.name, cell.artifact.variant): cell.artifact.path
        for cell, workload in cells
        if cell.artifact is not None and cell.artifact.variant
    }
    for (model, name), path in graphs.items():
        lineage = read_lineage(path)
        if lineage is not None:
            yield model, name, lineage
