"""The rows of a table: the text of each cell, in the columns that the group has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.quantities import NOT_MEASURED, significant
from irbench.render.columns import BACKEND, FIGURES, PRECISION, VERDICT, Figure
from irbench.render.figures import are_ranges, ends_heading, ends_text, speedup_cell
from irbench.render.footer import reason
from irbench.render.table import Column, Row, TextTable
from irbench.result import GroupResult
from irbench.row import CellResult

_VERDICT_STYLES = {"faster": "green", "slower": "red", "undecided": "yellow", "preview": "dim"}
_STATE_STYLES = {"mismatch": "red", "failed": "red"}
_WITHOUT_FIGURES_STYLE = "dim"


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
    figures = _figures(result, confidence)
    columns = (BACKEND, PRECISION, *(figure.column for figure in figures))
    rows = (_row(cell, result, figures, intervals=intervals, whole=whole_reasons) for cell in result.cells)
    return TextTable(columns, tuple(rows))


def _figures(result: GroupResult, confidence: float) -> tuple[Figure, ...]:
    return tuple(_with_speedup(result, confidence, [figure for figure in FIGURES if figure.is_shown(result)]))


def _with_speedup(result: GroupResult, confidence: float, figures: Sequence[Figure]) -> Iterator[Figure]:
    speedups = [cell.speedup for cell in result.cells]
    marks_ranges = not are_ranges(speedups)
    for figure in figures:
        if figure.column is VERDICT and len(result.cells) > 1:
            yield Figure(
                Column(ends_heading("speedup", speedups, confidence), words=True),
                lambda cell: speedup_cell(
                    cell.speedup, is_baseline=cell.id == result.baseline, marks_ranges=marks_ranges
                ),
            )
        yield figure


def _row(cell: CellResult, result: GroupResult, figures: Sequence[Figure], *, intervals: bool, whole: bool) -> Row:
    marker = " *" if cell.marks else ""
    begin = (_name(cell, result) + marker, str(cell.effective.get("precision") or NOT_MEASURED))
    if cell.latency_ms is None and cell.state != "ok":
        return Row((*begin, *_until_verdict(cell, figures)), reason(cell, whole=whole), _state_style(cell))
    cells = (_with_interval(figure, cell) if intervals else figure.text(cell) for figure in figures)
    return Row((*begin, *cells), style=_style(cell))


def _until_verdict(cell: CellResult, figures: Sequence[Figure]) -> Iterator[str]:
    for figure in figures:
        if figure.column is VERDICT:
            return
        yield figure.text(cell)


def _with_interval(figure: Figure, cell: CellResult) -> str:
    """Return the median over launches with its interval, where the figure has one."""
    span = figure.spans(cell)
    if span is None:
        return figure.text(cell)
    return f"{significant(span.value)}{ends_text(span.ends, marks_ranges=True)}"


def _name(cell: CellResult, result: GroupResult) -> str:
    """Return the row's label; with the precision asked for where the column of precisions does not tell two rows apart.

    A row that failed has nothing in that column.
    """
    with_precision = cell.effective.get("precision") is not None
    alike = [
        row
        for row in result.cells
        if _shown_as(row, precision=with_precision) == _shown_as(cell, precision=with_precision)
    ]
    return cell.label if len(alike) == 1 else f"{cell.label} {cell.requested.precision}"


def _shown_as(cell: CellResult, *, precision: bool) -> tuple[object, ...]:
    """Return what the columns say of a row besides its figures."""
    computed = cell.effective.get("precision") if precision else None
    return cell.label, cell.model, cell.batch, cell.requested.threads, computed


def _style(cell: CellResult) -> str:
    if cell.state != "ok":
        return _state_style(cell)
    return _VERDICT_STYLES.get(cell.speedup.verdict, "") if cell.speedup is not None else ""


def _state_style(cell: CellResult) -> str:
    return _STATE_STYLES.get(cell.state, _WITHOUT_FIGURES_STYLE)
