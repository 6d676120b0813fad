"""The tables of an operator profile: parts by backend, what they add up to, and their speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from irbench.profiling.estimates import Estimate
from irbench.profiling.report import By, CellSummary, Figures, PartRow, ProfileReport
from irbench.render.figures import NOT_MEASURED, significant
from irbench.render.line_wrapping import shorten_middle
from irbench.render.profile_texts import class_name, milliseconds
from irbench.render.quantities import percent
from irbench.render.table import Column, Row, TextTable

__all__ = ["fitting", "largest_first", "node_name", "part_table", "short_name", "speed_table"]

_PART_HEADINGS: dict[By, str] = {"class": "ms", "op": "ms by operator", "node": "ms by node"}
_LONGEST_NAME = 40
_LAST = "all others"
_LONGEST_SUM = len("between operators")
_SLOWEST = 1e9
"""Operations per second below which a part has no row: its speed is that of memory."""


def fitting(
    cells: Sequence[CellSummary], table_of: Callable[[Sequence[CellSummary]], TextTable], width: int
) -> Iterator[TextTable]:
    """Yield a table of all cells, or several where there is no room for all columns side by side.

    Args:
        cells: That have columns.
        table_of: Makes the table of some of them.
        width: In terminal cells.
    """
    group: list[CellSummary] = []
    for cell in cells:
        if group and table_of([*group, cell]).narrowest > width:
            yield table_of(group)
            group = []
        group.append(cell)
    if group:
        yield table_of(group)


def part_table(report: ProfileReport, cells: Sequence[CellSummary], by: By, top: int) -> TextTable:
    """Return a row for each part with time and share in each backend, then what the parts add up to.

    Among nodes, the runtime's own work is one row behind them, however many operators it has.

    Args:
        report: All figures.
        cells: Those that have columns.
        by: What parts are.
        top: How many rows of operators or nodes are shown; classes are shown all.
    """
    all_parts = largest_first(report, cells, by)
    parts = [row for row in all_parts if not row.is_overhead] if by == "node" else all_parts
    shown = len(parts) if by == "class" else top
    rows = [_part_row(row, cells) for row in parts[:shown]]
    rows += [_rest_row(parts[shown:], cells)] if parts[shown:] else []
    if len(parts) < len(all_parts):
        rows += [_part_row(row, cells) for row in largest_first(report, cells, "class") if row.is_overhead]
    return TextTable(_columns(cells, _PART_HEADINGS[by]), (*rows, *_sum_rows(cells)))


def speed_table(report: ProfileReport, cells: Sequence[CellSummary], by: By, top: int) -> TextTable:
    """Return the operations of each part and the speed that each backend achieves; without rows where none is known.

    Beside speeds stands their share of the machine's peak, of backends that some is known of.

    Args:
        report: All figures.
        cells: Those that have columns.
        by: What parts are.
        top: How many rows there are at most.
    """
    columns: tuple[Column, ...] = (Column("GFLOP/s", words=True, folds=True, least=_LONGEST_SUM), Column("GFLOP"))
    parts = [row for row in largest_first(report, cells, by) if any(_speed(row, cell) >= _SLOWEST for cell in cells)]
    peaked = {cell.id for cell in cells for row in parts[:top] if _peak_share(row, cell) is not None}
    for cell in cells:
        columns += (Column(cell.label), *([Column("of peak")] if cell.id in peaked else []))
    return TextTable(columns, tuple(_speed_row(row, cells, peaked) for row in parts[:top]))


def largest_first(report: ProfileReport, cells: Sequence[CellSummary], by: By) -> list[PartRow]:
    """Return the parts that some of these cells execute, those first that take longest in one of them."""
    parts = [row for row in report.rows(by) if any(cell.id in row.figures for cell in cells)]
    return sorted(parts, key=lambda row: -max(_time(row, cell) for cell in cells))


def _speed_row(row: PartRow, cells: Sequence[CellSummary], peaked: Collection[str]) -> Row:
    texts = [_part_name(row), _giga(max(figures.flops or 0 for figures in row.figures.values()))]
    for cell in cells:
        speed, of_peak = _speed(row, cell), _peak_share(row, cell)
        texts.append(significant(speed / 1e9 if speed else None))
        if cell.id in peaked:
            texts.append(NOT_MEASURED if of_peak is None else percent(of_peak, 0))
    return Row(tuple(texts))


def _peak_share(row: PartRow, cell: CellSummary) -> float | None:
    figures = row.figures.get(cell.id)
    return None if figures is None else figures.peak_share


def _giga(flops: int) -> str:
    """Return thousands of millions, with at most three digits after the point."""
    value = flops / 1e9
    return "<0.001" if value < 0.001 else f"{value:.3f}" if value < 1 else significant(value)


def _speed(row: PartRow, cell: CellSummary) -> float:
    figures = row.figures.get(cell.id)
    return (figures.flops_per_s or 0.0) if figures is not None else 0.0


def _columns(cells: Sequence[CellSummary], heading: str) -> tuple[Column, ...]:
    first = Column(heading, words=True, folds=True, least=_LONGEST_SUM)
    return (first, *(column for cell in cells for column in (Column(cell.label), Column("%"))))


def _part_row(row: PartRow, cells: Sequence[CellSummary]) -> Row:
    return Row((_part_name(row), *(text for cell in cells for text in _figures(row.figures.get(cell.id)))))


def _part_name(row: PartRow) -> str:
    if row.key == str(row.operator_class):
        return class_name(row.operator_class)
    return node_name(row) if row.nodes else row.name


def node_name(row: PartRow) -> str:
    """Return what a group of nodes is called: its main node, and how many others there are."""
    more = len(row.nodes) - 1
    name = short_name(row.name)
    return f"{name} +{more}" if more > 0 else name


def short_name(name: str) -> str:
    """Return the last scopes of a name, as many as are short enough to stand in one line; other forms hold all."""
    if len(name) <= _LONGEST_NAME:
        return name
    *scopes, last = name.split("/")
    while scopes and len(f"{scopes[-1]}/{last}") < _LONGEST_NAME - 1:
        last = f"{scopes.pop()}/{last}"
    return shorten_middle(f"…/{last}" if scopes else last, _LONGEST_NAME, _LONGEST_NAME // 2)


def _figures(figures: Figures | None) -> tuple[str, str]:
    return (NOT_MEASURED, "") if figures is None else (milliseconds(figures.time_ns.value), _share(figures.share))


def _share(share: Estimate) -> str:
    """Return ``71 ±1``: whole points, the half width rounded up; without it where a single launch gives none.

    Where that would leave 0 to 100, it is ``9 [0, 21]``.
    """
    points, half_width = 100 * share.value, 100 * share.half_width
    value = f"{points:.0f}" if points >= 0.95 or points == 0 else f"{points:.1f}"
    if share.low == share.high:
        return value
    if points - half_width >= 0 and points + half_width <= 100:
        return f"{value} ±{_points(half_width)}"
    return f"{value} [{math.floor(100 * share.low)}, {math.ceil(100 * share.high)}]"


def _points(half_width: float) -> str:
    return f"{math.ceil(half_width)}" if half_width > 0.95 else f"{math.ceil(10 * half_width) / 10:.1f}"


def _rest_row(rows: Sequence[PartRow], cells: Sequence[CellSummary]) -> Row:
    cells_of_row = [_LAST if len(rows) > 1 else "1 other"]
    for cell in cells:
        cells_of_row += [milliseconds(sum(_time(row, cell) for row in rows)), ""]
    return Row(tuple(cells_of_row), style="dim")


def _sum_rows(cells: Sequence[CellSummary]) -> Iterator[Row]:
    """Yield what the parts add up to: the operators, what lies between them, and the latency."""
    figures = (
        ("sum of operators", [cell.sum_ns for cell in cells]),
        ("between operators", [cell.between_ns for cell in cells]),
        ("latency, profiled", [cell.latency_ns for cell in cells]),
        ("latency, plain", [cell.plain_ns for cell in cells]),
    )
    for name, estimates in figures:
        texts = (text for found in estimates for text in (_estimated(found), ""))
        yield Row((name, *texts), style="bold" if name == "sum of operators" else "")
    yield Row(("cost of profiling", *(text for cell in cells for text in (_slowdown(cell.slowdown), ""))))


def _estimated(found: Estimate | None) -> str:
    return NOT_MEASURED if found is None else milliseconds(found.value)


def _slowdown(found: Estimate | None) -> str:
    return NOT_MEASURED if found is None else f"{found.value:.2f}x"


def _time(row: PartRow, cell: CellSummary) -> float:
    return row.figures[cell.id].time_ns.value if cell.id in row.figures else 0.0
