"""Tables with an optimised graph that could only be made with dynamic shapes: its other rows run dynamic ones too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from irbench.notices import Note
from irbench.spec import Artifact, Cell


@dataclass(frozen=True)
class Forms:
    """Which form of its graph each row runs.

    Attributes:
        cells: The rows.
        others: By cell id, the other form: with dynamic shapes instead of bound ones, or the other way round.
        notes: Why shapes are dynamic.
    """

    cells: tuple[Cell, ...]
    others: Mapping[str, Artifact]
    notes: tuple[Note, ...] = ()


def alike(forms: Forms, unbound: Mapping[str, str]) -> Forms:
    """Return the rows with dynamic shapes in all that can have them, if some must, so that they are comparable.

    Args:
        forms: As planned.
        unbound: Why an optimised graph has dynamic shapes, by the level of optimisation; may be empty.
    """
    if not unbound:
        return forms
    cells = tuple(_dynamic(cell, forms.others) for cell in forms.cells)
    bound = {cell.id: cell.artifact for cell in forms.cells if cell.id in forms.others and cell.artifact is not None}
    notes = (Note("graph-unbound", {"variant": level, "reason": reason}) for level, reason in unbound.items())
    return Forms(cells, bound, tuple(notes))


def _dynamic(cell: Cell, others: Mapping[str, Artifact]) -> Cell:
    return replace(cell, artifact=others[cell.id], dynamic=True) if cell.id in others else cell
