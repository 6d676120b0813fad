"""The rows of a table: the text of each cell, in the columns that the table has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, TypeAlias

from irbench.core.quantities import significant
from irbench.core.result import GroupResult
from irbench.core.row import CellResult
from irbench.render.columns import IN_SPEEDS
from irbench.render.columns.declaration import Column, R, Shown, ShownSpeed, T
from irbench.render.figures import ends_text
from irbench.render.footer import reason
from irbench.render.table import Column as TableColumn
from irbench.render.table import Row, TextTable

VERDICT_STYLES = {"faster": "green", "slower": "red", "undecided": "yellow", "preview": "dim"}
_STATE_STYLES = {"mismatch": "red", "failed": "red"}
_WITHOUT_FIGURES_STYLE = "dim"

_Columns: TypeAlias = Sequence[tuple[Column[Any], ShownSpeed]]


def group_table(
    result: GroupResult, confidence: float = 0.95, *, intervals: bool = False, whole_reasons: bool = True
) -> TextTable:
    """Return the group's rows in their order, as text.

    Args:
        result: The group.
        confidence: Of the intervals, for the heading.
        intervals: Whether latencies and FPS are shown with theirs.
        whole_reasons: Whether long reasons of rows without figures are shown whole.
    """
    columns = [(column, shown) for column, shown in IN_SPEEDS if shown.is_shown(result)]
    rows = (_row(cell, result, columns, intervals=intervals, whole=whole_reasons) for cell in result.cells)
    return TextTable(tuple(heading(shown, result, confidence) for _, shown in columns), tuple(rows))


def heading(shown: Shown[R, T], table: T, confidence: float) -> TableColumn:
    """Return a column of a table for people; the confidence is that of intervals."""
    name = shown.heading if isinstance(shown.heading, str) else shown.heading(table, confidence)
    return TableColumn(name, words=shown.words, drops=shown.drops)


def _row(cell: CellResult, result: GroupResult, columns: _Columns, *, intervals: bool, whole: bool) -> Row:
    if cell.latency_ms is None and cell.state != "ok":
        before = takewhile(lambda item: item[0].name != "verdict", columns)
        cells = tuple(column.text("speed", shown, cell, result) for column, shown in before)
        return Row(cells, reason(cell, whole=whole), _state_style(cell))
    texts = (
        (intervals and _interval(shown, cell)) or column.text("speed", shown, cell, result) for column, shown in columns
    )
    return Row(tuple(texts), style=_style(cell))


def _interval(shown: ShownSpeed, cell: CellResult) -> str:
    """Return the median over launches with its interval; empty where the column has none."""
    spans = shown.spans(cell) if shown.spans is not None else None
    return "" if spans is None else f"{significant(spans.value)}{ends_text(spans.ends, marks_ranges=True)}"


def _style(cell: CellResult) -> str:
    if cell.state != "ok":
        return _state_style(cell)
    return VERDICT_STYLES.get(cell.speedup.verdict, "") if cell.speedup is not None else ""


def _state_style(cell: CellResult) -> str:
    return _STATE_STYLES.get(cell.state, _WITHOUT_FIGURES_STYLE)
