"""What must be said of the optimised graphs of a run: compared in part, or calibrated on generated inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.notices import Note
from irbench.optimizer import Lineage, calibration_note, read_lineage
from irbench.runner.plan import PlannedGroup

__all__ = ["generated_calibrations", "unchecked_graphs"]


def unchecked_graphs(groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each optimised graph of which a branch or loop was not compared with the original."""
    for model, name, lineage in _optimized_graphs(groups):
        if lineage.checked is not None and lineage.checked.unchecked:
            parts = len(lineage.checked.unchecked)
            yield Note("graph-partly-unchecked", {"model": model, "variant": name, "parts": parts})


def generated_calibrations(groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each quantised graph that was calibrated on generated floats."""
    notes = (calibration_note(model, lineage) for model, _, lineage in _optimized_graphs(groups))
    yield from (note for note in notes if note is not None)


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
