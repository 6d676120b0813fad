"""What a table says of neighbours in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from irbench.core.quantities import listing
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.render.columns.neighbours import slowdown_of
from irbench.render.figure_texts import RANGE, ratio_with_ends
from irbench.spec.neighbours import FULL


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
    return f"; alone, repeated: {listing(texts)}{f' ({RANGE})' if result.preview else ''}" if texts else ""
