"""A whole run, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from irbench.charts.records import chart_rows
from irbench.charts.terminal_curves import curve_plots
from irbench.core.quantities import NOT_MEASURED
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, row_names
from irbench.core.stored_plan import StoredPlan
from irbench.notices import Note
from irbench.render.columns.declaration import RowSource
from irbench.render.footer import incomplete, reason
from irbench.render.formats.row_table import row_sources
from irbench.render.interval_plot import interval_plot
from irbench.render.line_wrapping import wrap, wrap_message
from irbench.render.neighbour_texts import slowdown_matrix
from irbench.render.outcome_texts import best_text
from irbench.render.speed_table import GroupView, WhichColumns
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import title
from irbench.render.views import Block, PlainView, Sentence
from irbench.render.wide_table import wide_table
from irbench.runs.run_modes import mode_views
from irbench.store.table_outcomes import best_of_run

_COLUMNS = (
    TableColumn("backend", words=True),
    TableColumn("prec", words=True, drops=2),
    TableColumn("peak MB"),
    TableColumn("private MB"),
    TableColumn("runtime"),
    TableColumn("model"),
    TableColumn("calls"),
    TableColumn("graph file", drops=1),
)
_LEGEND = (
    "peak: resident, of the whole life of the process · private: at the end, what no other process shares",
    "private memory after the import of the runtime, then what loading and compiling the model added, then the calls",
    "all private memory is that of the launch with the most at its end; the peak is the largest of all launches",
)


ALL_ROWS = "all rows; a speedup is over the baseline of its own table"
"""The heading of a table that has the rows of others."""


class DocumentView:
    """Every table of a run, and below them what is to be said of the run.

    Args:
        document: The run.
        columns: Which columns the tables of speeds have.
        intervals: Whether latencies and FPS are shown with their intervals over launches.
        warnings: Whether warnings are shown whole, with their remedies; otherwise each has one line.
        memory: Whether the memory of rows is shown in place of their speed.
        plot: Whether speedups are drawn below their table, and throughput against each setting in which rows differ.
        roofline: Whether rows are compared with the peaks of the machine.
        call: What shows the warnings whole; by default the command.
    """

    def __init__(
        self,
        document: RunDocument,
        *,
        columns: WhichColumns = "usual",
        intervals: bool = False,
        warnings: bool = False,
        memory: bool = False,
        plot: bool = False,
        roofline: bool = False,
        call: str = "",
    ) -> None:
        self._document = document
        self._plots = document.groups if plot else ()
        self._call = call or f"irbench show {document.run_id} --warnings"
        facts = (document.environment, document.plan)
        self._groups: list[GroupView | PlainView] = []
        told = list[Note]()
        for group in document.groups:
            shows: dict[str, Any] = {
                "columns": columns,
                "intervals": intervals,
                "warnings": warnings,
                "roofline": roofline,
            }
            self._groups.append(
                memory_view(group, *facts) if memory else GroupView(group, *facts, **shows, told=tuple(told))
            )
            told += group.notes
        if not memory and (joined := rows_of_all_shapes(document)):
            self._groups.append(PlainView(ALL_ROWS, "", wide_table(joined), ()))
        matrix = slowdown_matrix(document.groups, document.plan.confidence)
        self._groups += () if memory or matrix is None else (matrix,)
        self._groups += mode_views(document)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width that shows every column; called by rich."""
        widths = [Measurement.get(console, options, group).maximum for group in self._groups]
        width = max(widths, default=options.max_width)
        return Measurement(width, width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; called by rich."""
        yield from self.as_lines(options.max_width, unicode=not options.ascii_only)

    def as_lines(self, width: int, *, unicode: bool = True) -> Iterator[Text]:
        """Yield the tables as lines of at most ``width`` cells, an empty line between two of them.

        What shows the warnings whole is to be typed: no line break is in it, however long it is.
        """
        for number, group in enumerate(self._groups):
            if number:
                yield Text()
            yield from group.as_lines(width)
            if number < len(self._plots):
                yield from interval_plot(self._plots[number], width, unicode=unicode)
                rows = chart_rows(self._plots[number], number)
                yield from curve_plots(rows, self._plots[number].throughput_unit, width, unicode=unicode)
        for sentence in self._below():
            yield from (Text(line) for line in wrap(sentence, width))
        if whole := self._whole(width):
            yield from (Text(line, no_wrap=True, overflow="ignore") for line in wrap_message(whole, width))

    def blocks(self) -> Iterator[Block]:
        """Yield the parts, whatever draws them; nothing in them is shortened."""
        for group in self._groups:
            yield from group.blocks()
        yield from map(Sentence, self._below())

    def _below(self) -> Iterator[str]:
        if not self._groups:
            yield "The run holds no table."
        yield from map(best_text, best_of_run(self._document))
        if not self._document.complete:
            yield incomplete(self._document)

    def _whole(self, width: int) -> str:
        """Return what shows in full what the tables shorten; empty where they shorten nothing."""
        shortened = (
            ("warnings with their remedies", any(group.shortens(width) for group in self._groups)),
            ("reasons in full", any(group.shortens_reasons for group in self._groups)),
        )
        texts = [text for text, is_shortened in shortened if is_shortened]
        return f"{' and '.join(texts).capitalize()}: {self._call}" if texts else ""


def rows_of_all_shapes(document: RunDocument) -> tuple[RowSource, ...]:
    """Return the rows of all tables where a model has tables of several shapes; otherwise none."""
    tables = [group for group in document.groups if any(cell.latency_ms is not None for cell in group.cells)]
    if len({group.model for group in tables}) == len(tables):
        return ()
    return tuple(source for source in row_sources(document) if source.kind == "speed")


def memory_view(result: GroupResult, environment: Mapping[str, Any], plan: StoredPlan) -> PlainView:
    """Return the view of the memory of a table's rows."""
    names = row_names(result.cells)
    rows = tuple(_row(cell, names[cell.id]) for cell in result.cells)
    return PlainView(title(result, environment, plan), "", TextTable(_COLUMNS, rows), tuple(_notes(result)))


def _row(cell: CellResult, name: str) -> Row:
    if cell.latency_ms is None:
        return Row((name, NOT_MEASURED), reason(cell), "red" if cell.state == "failed" else "dim")
    private = cell.private_memory_bytes or {}
    imported, compiled, end = (private.get(phase) for phase in ("import", "compile", "run"))
    sizes = (
        (cell.peak_memory_bytes or {}).get("process"),
        end,
        imported,
        _growth(imported, compiled),
        _growth(compiled, end),
        cell.graph_files.size_bytes if cell.graph_files is not None else None,
    )
    return Row((name, str(cell.effective.get("precision", NOT_MEASURED)), *map(_megabytes, sizes)))


def _notes(result: GroupResult) -> Iterator[str]:
    yield from _LEGEND
    if any(cell.requested.instances > 1 for cell in result.cells):
        yield "of several processes: the sum"


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _megabytes(size: int | None) -> str:
    return NOT_MEASURED if size is None else f"{size / 1e6:,.1f}"
