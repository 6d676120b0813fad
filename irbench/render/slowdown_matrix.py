"""How much each of several models is slowed down by each neighbour: what the tables of a co-run say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.core.quantities import NOT_MEASURED
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Spans, distinguish, name_of
from irbench.render.columns.neighbours import has_neighbours, slowdown_of
from irbench.render.figure_texts import ends_heading, ratio_with_ends
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.views import PlainView
from irbench.spec import AGAIN, Neighbour

_TITLE = "Slowdowns of all tables"


def slowdown_matrix(groups: Sequence[GroupResult], confidence: float) -> PlainView | None:
    """Return the slowdown of each model beside each neighbour at its highest intensity, in the order of the tables.

    Args:
        groups: The tables of a run.
        confidence: That of their intervals, as a fraction.

    Returns:
        A row for each table and a column for each neighbour; ``None`` where fewer than two tables have neighbours.
    """
    tables = [group for group in groups if has_neighbours(group)]
    if len(tables) < 2:
        return None
    names = _names(tables)
    rows = [_strongest(group) for group in tables]
    neighbours = {name: each for row in rows for name, (each, _) in row.items()}
    again = [_alone(group, again=True) for group in tables]
    columns = (
        TableColumn(ends_heading("slowdown of", _speedups(rows), confidence), words=True),
        TableColumn("alone once more", folds=True),
        *(TableColumn(f"beside {neighbour.label}", folds=True) for neighbour in neighbours.values()),
    )
    shown = tuple(
        Row((name, _text(alone), *(_text(row[beside][1]) if beside in row else NOT_MEASURED for beside in neighbours)))
        for name, alone, row in zip(names, again, rows, strict=True)
    )
    return PlainView(_TITLE, _worst(names, rows), TextTable(columns, shown), ())


_Cells = Mapping[str, tuple[Neighbour, CellResult]]
"""A neighbour at its highest intensity and the row beside it, by the neighbour's name."""


def _strongest(group: GroupResult) -> _Cells:
    found: dict[str, tuple[Neighbour, CellResult]] = {}
    for cell in group.cells:
        neighbour = cell.requested.beside
        if neighbour is None:
            continue
        known = found.get(neighbour.name)
        if known is None or known[0].intensity < neighbour.intensity:
            found[neighbour.name] = neighbour, cell
    return found


def _names(tables: Sequence[GroupResult]) -> list[str]:
    """Return what tables are called: their models, with what else tells them apart."""
    alone = {place: _alone(group) for place, group in enumerate(tables)}
    settings = distinguish({place: name_of(cell) for place, cell in alone.items()})
    if len({group.model for group in tables}) == len(tables):
        return [group.model for group in tables]
    return [f"{group.model}{SEPARATOR}{settings[place]}" for place, group in enumerate(tables)]


def _alone(group: GroupResult, *, again: bool = False) -> CellResult:
    return next(cell for cell in group.cells if cell.requested.beside is None and cell.id.endswith(AGAIN) == again)


def _speedups(rows: Sequence[_Cells]) -> list[Spans]:
    return [known for row in rows for _, cell in row.values() if (known := slowdown_of(cell)) is not None]


def _text(cell: CellResult) -> str:
    slowdown = slowdown_of(cell)
    if slowdown is None:
        return NOT_MEASURED
    value, ends = ratio_with_ends(slowdown.value, slowdown.ends)
    return f"{value}{ends}"


def _worst(names: Sequence[str], rows: Sequence[_Cells]) -> str:
    """Return which model is slowed down most and beside what, of those slowdowns that are sure."""
    sure = [
        (slowdown.value, name, neighbour, cell)
        for name, row in zip(names, rows, strict=True)
        for neighbour, cell in row.values()
        if cell.speedup is not None and cell.speedup.verdict == "slower" and (slowdown := slowdown_of(cell)) is not None
    ]
    if not sure:
        return "No slowdown is certain, from as many launches as there are."
    _, name, neighbour, cell = max(sure, key=lambda each: each[0])
    return f"{name} is slowed down most, beside {neighbour.label}: {_text(cell)}"
