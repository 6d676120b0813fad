"""The tables of an operator profile: parts by backend, what they add up to, and their speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Literal, TypeAlias

from irbench.core.quantities import NOT_MEASURED, percent, significant
from irbench.features.profile.report import By, CellSummary, Estimate, PartRow, ProfileReport
from irbench.features.profile.views.part_names import PartNames
from irbench.features.profile.views.sentences import estimated, milliseconds
from irbench.render.table import Row, TableColumn, TextTable


@dataclass(frozen=True)
class Fitted:
    """A table for the width that there is, and what was left out of it."""

    table: TextTable
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A way to draw a table of some cells, and what it leaves out."""

    table_of: Callable[[Sequence[CellSummary]], TextTable]
    hidden: tuple[str, ...] = ()


def fitting(cells: Sequence[CellSummary], forms: Sequence[Form], width: int) -> Iterator[Fitted]:
    """Yield one table of all cells in the first form that has room, else several of the first form."""
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


_ShareForm: TypeAlias = Literal["interval", "plain", "none"]
_PART_HEADINGS: dict[By, str] = {"class": "ms", "op": "ms by operator", "node": "ms by node"}
_LAST = "all others"
_SHARE, _OF_PEAK = "%", "of peak"
_KERNELS_AND_WAITING = "kernels and waiting"
_BELOW = "· "
"""What the name of a runtime's own operator begins with, below the row that it is a part of."""
_SMALL = 0.01
"""The least share of the time for such an operator to have a row of its own."""
_LONGEST_SUM = len("between operators")
_LONGEST_WORD = 20
"""Names of nodes are broken behind a slash where there is no room for longer ones."""
_SLOWEST = 1e9
"""Operations per second below which a part that takes little time has no row: its speed is that of memory."""


def part_forms(report: ProfileReport, names: PartNames, by: By, top: int) -> tuple[Form, ...]:
    """Return the forms of the table with a row for each part, and of what the parts add up to.

    Operators of several backends have rows for each runtime's own below them, where some of these are fused. Among
    nodes, the runtime's own work is one row behind them, however many operators it has.
    """

    def rows(cells: Sequence[CellSummary], draw: _Drawing) -> Iterator[Row]:
        all_parts = largest_first(report, cells, by)
        parts = [row for row in all_parts if not row.is_overhead] if by == "node" else all_parts
        shown = len(parts) if by == "class" else top
        for part in parts[:shown]:
            yield draw.row(names.of(part), part)
            yield from _rows_below(part, names, cells, draw)
        if parts[shown:]:
            yield draw.rest(parts[shown:])
        if len(parts) < len(all_parts):
            overhead = (row for row in largest_first(report, cells, "class") if row.is_overhead)
            yield from (draw.row(names.of(row), row) for row in overhead)
        yield from draw.sums()

    return _forms(_PART_HEADINGS[by], rows)


def longest_forms(names: PartNames, parts: Sequence[PartRow]) -> tuple[Form, ...]:
    """Return the forms of a table of some parts, without what all parts add up to."""

    def rows(_: Sequence[CellSummary], draw: _Drawing) -> Iterator[Row]:
        yield from (draw.row(names.of(part), part) for part in parts)

    return _forms(_PART_HEADINGS["node"], rows)


def speed_forms(report: ProfileReport, names: PartNames, by: By, top: int) -> tuple[Form, ...]:
    """Return the forms of the table with the operations of each part and the speed that each backend achieves.

    Beside speeds stands their share of the machine's peak, of backends that some is known of.
    """

    def table(cells: Sequence[CellSummary], *, has_peak: bool) -> TextTable:
        parts = parts_with_speed(report, cells, by)[:top]
        peaked = {cell.id for cell in cells for row in parts if has_peak and _peak_share(row, cell) is not None}
        columns: tuple[TableColumn, ...] = (_first_column("GFLOP/s"), TableColumn("GFLOP"))
        for cell in cells:
            columns += (TableColumn(cell.label), TableColumn(_OF_PEAK))[: 1 + (cell.id in peaked)]
        return TextTable(columns, tuple(_speed_row(row, names, cells, peaked) for row in parts))

    has_peaks = any(figures.peak_share is not None for row in report.rows(by) for figures in row.figures.values())
    hidden = (_OF_PEAK,) if has_peaks else ()
    return Form(partial(table, has_peak=True)), Form(partial(table, has_peak=False), hidden)


def parts_with_speed(report: ProfileReport, cells: Sequence[CellSummary], by: By) -> list[PartRow]:
    """Return the parts of the table of speeds: classes that take noticeable time, and others whose speed matters."""
    parts = [row for row in largest_first(report, cells, by) if not row.is_overhead]
    fastest = {row.key: max(_speed(row, cell) for cell in cells) for row in parts}
    if not any(fastest.values()):
        return []
    return [
        row
        for row in parts
        if fastest[row.key] >= _SLOWEST or (row.is_noticeable and (by == "class" or fastest[row.key]))
    ]


def largest_first(report: ProfileReport, cells: Sequence[CellSummary], by: By) -> list[PartRow]:
    """Return the parts that some of these cells execute, those first that take longest in one of them."""
    parts = [row for row in report.rows(by) if any(cell.id in row.figures for cell in cells)]
    return sorted(parts, key=lambda row: -max(_time(row, cell) for cell in cells))


def _speed_row(row: PartRow, names: PartNames, cells: Sequence[CellSummary], peaked: Collection[str]) -> Row:
    texts = [names.of(row), _giga(max(figures.flops or 0 for figures in row.figures.values()))]
    for cell in cells:
        speed, of_peak = _speed(row, cell), _peak_share(row, cell)
        texts.append(_giga_per_second(speed))
        if cell.id in peaked:
            texts.append(NOT_MEASURED if of_peak is None else percent(of_peak, 0))
    return Row(tuple(texts))


def _peak_share(row: PartRow, cell: CellSummary) -> float | None:
    figures = row.figures.get(cell.id)
    return None if figures is None else figures.peak_share


def _giga(flops: int) -> str:
    """Return thousands of millions, with at most three digits after the point."""
    value = flops / 1e9
    if not flops:
        return NOT_MEASURED
    return "<0.001" if value < 0.001 else f"{value:.3f}" if value < 1 else significant(value)


def _giga_per_second(speed: float) -> str:
    if not speed:
        return NOT_MEASURED
    return "<0.001" if speed < 1e6 else significant(speed / 1e9)


def _speed(row: PartRow, cell: CellSummary) -> float:
    figures = row.figures.get(cell.id)
    return (figures.flops_per_s or 0.0) if figures is not None else 0.0


@dataclass(frozen=True)
class _Drawing:
    """Draws rows with the time of each of some cells, and with its share beside it unless there is no room."""

    cells: Sequence[CellSummary]
    share: _ShareForm

    def columns(self, heading: str) -> tuple[TableColumn, ...]:
        shares = () if self.share == "none" else (TableColumn(_SHARE),)
        return (
            _first_column(heading),
            *(column for cell in self.cells for column in (TableColumn(cell.label), *shares)),
        )

    def row(self, name: str, part: PartRow) -> Row:
        figures = [part.figures.get(cell.id) for cell in self.cells]
        times = (NOT_MEASURED if figure is None else milliseconds(figure.time_ns.value) for figure in figures)
        has_interval = self.share == "interval"
        shares = ("" if figure is None else _share(figure.share, has_interval=has_interval) for figure in figures)
        return self._line(name, times, shares)

    def rest(self, rows: Sequence[PartRow], prefix: str = "") -> Row:
        name = _LAST if not prefix and len(rows) > 1 else f"{prefix}{len(rows)} other{'s' if len(rows) > 1 else ''}"
        sums = (milliseconds(sum(_time(row, cell) for row in rows)) for cell in self.cells)
        return self._line(name, sums, style="dim")

    def sums(self) -> Iterator[Row]:
        """Yield what the parts add up to: the operators, what lies between them, and the latency."""
        yield self._line("sum of operators", (estimated(cell.sum_ns) for cell in self.cells), style="bold")
        yield self._line("between operators", (estimated(cell.between_ns) for cell in self.cells))
        yield self._line("latency, profiled", (estimated(cell.latency_ns) for cell in self.cells))
        yield self._line("latency, plain", (estimated(cell.plain_ns) for cell in self.cells))
        yield self._line("cost of profiling", map(_cost, self.cells))

    def _line(self, name: str, times: Iterable[str], shares: Iterable[str] = repeat(""), style: str = "") -> Row:
        if self.share == "none":
            return Row((name, *times), style=style)
        return Row((name, *(text for pair in zip(times, shares, strict=False) for text in pair)), style=style)


def _cost(cell: CellSummary) -> str:
    if cell.slowdown is None:
        return NOT_MEASURED
    return f"{cell.slowdown.value:.2f}x{' (noise)' if cell.seems_sped_up else ''}"


def _forms(heading: str, rows: Callable[[Sequence[CellSummary], _Drawing], Iterator[Row]]) -> tuple[Form, ...]:
    """Return a table with shares and their intervals, with shares alone, and without either."""

    def form(share: _ShareForm, hidden: tuple[str, ...]) -> Form:
        def table(cells: Sequence[CellSummary]) -> TextTable:
            draw = _Drawing(cells, share)
            return TextTable(draw.columns(heading), tuple(rows(cells, draw)))

        return Form(table, hidden)

    return form("interval", ()), form("plain", ("±",)), form("none", (_SHARE,))


def _rows_below(row: PartRow, names: PartNames, cells: Sequence[CellSummary], draw: _Drawing) -> Iterator[Row]:
    """Yield the runtimes' own operators of a row of several backends; those that take little time as one."""
    own = [part for part in row.below if any(cell.id in part.figures for cell in cells)]
    large = [part for part in own if any(figures.share.value >= _SMALL for figures in part.figures.values())]
    small = [part for part in own if part not in large]
    if len(small) == 1:
        large, small = own, []
    yield from (draw.row(f"{_BELOW}{names.of(part)}", part) for part in large)
    if small and large:
        yield draw.rest(small, _BELOW)


def _first_column(heading: str) -> TableColumn:
    return TableColumn(heading, words=True, folds=True, least=_LONGEST_SUM, breaks_at="/", longest=_LONGEST_WORD)


def _share(share: Estimate, *, has_interval: bool) -> str:
    """Return ``71 ±1``: whole points, the half width rounded up; without it where a single launch gives none.

    Where that would leave 0 to 100, it is ``9 [0, 21]``.
    """
    points, half_width = 100 * share.value, 100 * share.half_width
    value = f"{points:.0f}" if points >= 0.95 or points == 0 else f"{points:.1f}"
    if share.low == share.high or not has_interval:
        return value
    if points - half_width >= 0 and points + half_width <= 100:
        width = f"{math.ceil(half_width)}" if half_width > 0.95 else f"{math.ceil(10 * half_width) / 10:.1f}"
        return f"{value} ±{width}"
    return f"{value} [{math.floor(100 * share.low)}, {math.ceil(100 * share.high)}]"


def _time(row: PartRow, cell: CellSummary) -> float:
    return row.figures[cell.id].time_ns.value if cell.id in row.figures else 0.0


_GPU_PARTS = {
    "copies in": "copy_in_ns",
    "kernels": "kernels_ns",
    "waits for the host": "waiting_ns",
    _KERNELS_AND_WAITING: "between_copies_ns",
    "copies out": "copy_out_ns",
}
"""The parts of an inference on a GPU, by what a table calls them."""


def gpu_table(cells: Sequence[CellSummary]) -> TextTable:
    """Return the parts of the latency of cells that ran on a GPU, with their shares."""
    columns = (column for cell in cells for column in (TableColumn(cell.label), TableColumn(_SHARE)))
    lacks_kernels = any(cell.gpu is not None and cell.gpu.kernels_ns is None for cell in cells)
    parts = (part for part in _GPU_PARTS.items() if part[0] != _KERNELS_AND_WAITING or lacks_kernels)
    rows = [
        Row((name, *(text for cell in cells for text in _with_share(getattr(cell.gpu, part), cell))))
        for name, part in parts
    ]
    latencies = (text for cell in cells for text in (estimated(cell.latency_ns), ""))
    return TextTable(
        (TableColumn("ms on the GPU", words=True), *columns), (*rows, Row(("latency, profiled", *latencies)))
    )


def _with_share(part: Estimate | None, cell: CellSummary) -> tuple[str, str]:
    if part is None or cell.latency_ns is None:
        return NOT_MEASURED, ""
    return milliseconds(part.value), f"{100 * part.value / cell.latency_ns.value:.0f}"
