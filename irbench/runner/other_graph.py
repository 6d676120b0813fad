"""Graphs that a runtime refuses with bound shapes and runs with dynamic ones, or the other way round.

Binding fixes sizes in branches too that these sizes do not reach: the branch for another sampling rate, whose shapes
then contradict each other. A runtime may refuse the whole graph for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from irbench.notices import Note
from irbench.notices.notes import GraphFormRefused
from irbench.runner.plan import PlannedGroup
from irbench.spec import Artifact, Cell


class GraphRefused(Exception):
    """A cell cannot run its graph, and can run the other form of it.

    Attributes:
        cell: Its id.
        reason: What the runtime said.
    """

    def __init__(self, cell: str, reason: str) -> None:
        super().__init__(f"{cell}: {reason}")
        self.cell = cell
        self.reason = reason


def other_form(cell: Cell, others: Mapping[str, Artifact]) -> Cell | None:
    """Return the cell with the other form of its graph: with dynamic shapes if they are bound, and vice versa."""
    other = others.get(cell.id)
    return None if other is None else replace(cell, artifact=other, dynamic=not cell.dynamic)


def with_other_graphs(planned: PlannedGroup, refused: GraphRefused, *, alone: bool = False) -> PlannedGroup:
    """Return the group with dynamic shapes in all rows, so that they run the same graph.

    Where a row refuses these, it alone gets the other form back.

    Args:
        planned: The group.
        refused: What was refused, and why.
        alone: Whether only this row changes, because others were measured already.
    """
    group, others = planned.group, planned.others
    changed = {refused.cell} if alone or any(cell.dynamic for cell in group.cells) else set(others)
    cells = tuple((other_form(cell, others) if cell.id in changed else None) or cell for cell in group.cells)
    before = {cell.id: cell.artifact for cell in group.cells if cell.id in changed and cell.artifact is not None}
    left = {cell: artifact for cell, artifact in {**others, **before}.items() if cell != refused.cell}
    (cell,) = (cell for cell in group.cells if cell.id == refused.cell)
    notes = (*planned.notes, refusal_note(cell, refused.reason))
    return replace(planned, group=replace(group, cells=cells), others=left, notes=notes)


def refusal_note(cell: Cell, reason: str) -> Note:
    """Return what is told below a table of a runtime that refuses the form of a graph that its cell has.

    Args:
        cell: With the refused form.
        reason: What the runtime said.
    """
    path = cell.artifact.path if cell.artifact is not None else None
    reason = reason if path is None else reason.replace(str(path), path.name)  # the copy with bound shapes is gone then
    return GraphFormRefused(backend=str(cell.address), refused="dynamic" if cell.dynamic else "bound", reason=reason)
