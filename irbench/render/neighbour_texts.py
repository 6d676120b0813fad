"""What tables say of neighbours: each in a sentence, and all of a co-run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from irbench.core.quantities import NOT_MEASURED, listing
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Spans, distinguish, name_of
from irbench.render.columns.neighbours import has_neighbours, slowdown_of
from irbench.render.figure_texts import RANGE, are_ranges, ends_heading, ratio_with_ends
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.views import PlainView
from irbench.spec import AGAIN, Neighbour
from irbench.spec.neighbours import FULL

_TITLE = "Slowdowns of all tables"
_AGAIN = "alone, repeated"


def slowdowns_text(result: GroupResult) -> str:
    """Return how much each neighbour slows a table's row down at most, and from which intensity on that is sure."""
    curves: dict[str, list[CellResult]] = {}
    for cell in result.cells:
        if cell.requested.beside is not None and cell.speedup is not None:
            curves.setdefault(cell.requested.beside.name, []).append(cell)
    said = [text for name, rows in curves.items() if (text := _curve(name, rows))]
    if not said:
        return ""
    preview = "preview: " if result.preview else ""
    return f"{preview}beside {'; '.join(said)}{_again(result)}"


def _curve(name: str, rows: Sequence[CellResult]) -> str:
    most = max(rows, key=_intensity)
    slowdown = slowdown_of(most)
    assert slowdown is not None
    value, ends = ratio_with_ends(slowdown.value, slowdown.ends, marks_ranges=False)
    at = f" {_intensity(most)}%" if most.requested.beside is not None and most.requested.beside.is_graded else ""
    first = _slower_from(rows)
    since = f", from {first}% on" if at and first is not None and first < _intensity(most) else ""
    return f"{name}{at} {value}x{ends}{since}"


def _slower_from(rows: Sequence[CellResult]) -> int | None:
    """Return the lowest intensity from which on all rows are slower than the row alone."""
    falling = sorted(rows, key=_intensity, reverse=True)
    slower = takewhile(lambda row: row.speedup is not None and row.speedup.verdict == "slower", falling)
    return min(map(_intensity, slower), default=None)


def _intensity(cell: CellResult) -> int:
    return FULL if cell.requested.beside is None else cell.requested.beside.intensity


def _again(result: GroupResult) -> str:
    alone = (cell for cell in result.cells if cell.requested.beside is None)
    rows = [cell for cell in alone if cell.id != result.baseline and cell.speedup is not None]
    texts = [
        f"{value}x{ends}"
        for cell in rows
        if (slowdown := slowdown_of(cell)) is not None
        for value, ends in (ratio_with_ends(slowdown.value, slowdown.ends),)
    ]
    return f"; {_AGAIN}: {listing(texts)}{f' ({RANGE})' if result.preview else ''}" if texts else ""


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
    columns = {_AGAIN: [slowdown_of(_alone(group, again=True)) for group in tables]} | {
        f"beside {neighbour.label}": [slowdown_of(row[name][1]) if name in row else None for row in rows]
        for name, neighbour in neighbours.items()
    }
    headings = (ends_heading(name, figures, confidence) for name, figures in columns.items())
    texts = zip(*map(_texts, columns.values()), strict=True)
    table = TextTable(
        (TableColumn("slowdown of", words=True), *(TableColumn(heading, folds=True) for heading in headings)),
        tuple(Row((name, *row)) for name, row in zip(names, texts, strict=True)),
    )
    return PlainView(_TITLE, _largest(names, rows), table, ())


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


def _texts(figures: Sequence[Spans | None]) -> list[str]:
    """Return the figures of a column; a range is marked where its heading speaks of intervals."""
    marks_ranges = not are_ranges(figures)
    return [NOT_MEASURED if each is None else _text(each, marks_ranges=marks_ranges) for each in figures]


def _text(slowdown: Spans, *, marks_ranges: bool = True) -> str:
    value, ends = ratio_with_ends(slowdown.value, slowdown.ends, marks_ranges=marks_ranges)
    return f"{value}{ends}"


def _largest(names: Sequence[str], rows: Sequence[_Cells]) -> str:
    """Return the largest slowdown that is certain; the table may have a larger one that is not."""
    certain = [
        (slowdown.value, f"{name} beside {neighbour.label}, {_text(slowdown)}")
        for name, row in zip(names, rows, strict=True)
        for neighbour, cell in row.values()
        if cell.speedup is not None and cell.speedup.verdict == "slower" and (slowdown := slowdown_of(cell)) is not None
    ]
    if not certain:
        return "No slowdown is certain yet; give more --budget."
    return f"Largest certain slowdown: {max(certain)[1]}"
