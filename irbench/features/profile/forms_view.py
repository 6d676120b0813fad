"""Forms of a table with columns for each backend: with all there is to show, or with less where there is no room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from irbench.features.profile.report import CellSummary
from irbench.render.table import TextTable


@dataclass(frozen=True)
class Fitted:
    """A table for the width that there is.

    Attributes:
        table: It.
        hidden: What was left out of it.
    """

    table: TextTable
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A way to draw a table.

    Attributes:
        table_of: Makes the table of some cells.
        hidden: What it leaves out.
    """

    table_of: Callable[[Sequence[CellSummary]], TextTable]
    hidden: tuple[str, ...] = ()


def fitting(cells: Sequence[CellSummary], forms: Sequence[Form], width: int) -> Iterator[Fitted]:
    """Yield one table of all cells in the first form that has room, else several of the first form.

    Args:
        cells: That have columns.
        forms: How the table may be drawn, that with the most first.
        width: In terminal cells.
    """
    for form in forms if cells else ():
        table = form.table_of(cells)
        if table.narrowest <= width:
            yield Fitted(table, form.hidden)
            return
    table_of = forms[0].table_of
    group: list[CellSummary] = []
    for cell in cells:
        if group and table_of([*group, cell]).narrowest > width:
            yield Fitted(table_of(group))
            group = []
        group.append(cell)
    if group:
        yield Fitted(table_of(group))
