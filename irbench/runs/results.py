"""A stored run in Python: tables, rows, winner, samples and display."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from irbench.api.arguments import given_path
from irbench.api.display import Displayable, as_text
from irbench.charts.drawing import require_drawing
from irbench.charts.plots import Plot, Plottable, plot_called
from irbench.core.cold_row import ColdTable
from irbench.core.counter_row import CounterTable
from irbench.core.plain_text import plain
from irbench.core.result import Condition, GroupResult, RunDocument
from irbench.core.serving_row import ServingTable
from irbench.core.soak_row import SoakTable
from irbench.errors import IrbenchError, WithoutFrames
from irbench.render.columns.declaration import Column, RowSource
from irbench.render.formats.exported_run import ExportedRun
from irbench.render.formats.row_table import RowTable, row_sources, row_table, row_values, table_of
from irbench.runs.results_export import chosen_columns, export_run
from irbench.runs.run_row import RunRow
from irbench.system.installation import require_libraries

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from rich.console import RenderableType

    from irbench.charts.figure import Figure
    from irbench.render.formats.export_formats import FormatName
    from irbench.render.sample_lines import SampleLine
    from irbench.render.speed_table import WhichColumns
    from irbench.runs.measurement import StoredRun

_WHOLE = "print(run.to_text(warnings=True))"
"""What shows the warnings of a run whole."""

TextFormat = Literal["table", "json", "jsonl", "csv", "md"]

_PANDAS_TYPES = {"int64": ("int64", "Int64"), "double": ("float64", "float64"), "bool": ("bool", "boolean")}
"""Of columns whose values are never and may be missing; text stays as it is."""


class Interrupted(WithoutFrames, KeyboardInterrupt):
    """Ctrl-C ended a call; what had been done by then is in ``result``, and a run is in the store.

    It is a ``KeyboardInterrupt``: a program that does not catch it ends, as it does without irbench.

    Attributes:
        result: The :class:`Run` or the verification as far as it went.
    """

    def __init__(self, message: str, result: object) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[Interrupted], tuple[object, ...], dict[str, Any]]:
        """Return what pickle restores it from: an exception by itself would leave the result out."""
        return type(self), (*self.args, self.result), self.__dict__


@dataclass(frozen=True)
class TableWinner:
    """The fastest row of a table.

    Attributes:
        row: The fastest row.
        rival: The row that comes next.
        ratio: How many times as fast as its rival it is.
        low: Lower end of the confidence interval, adjusted for having chosen the best.
        high: Upper end.
        condition: ``busy`` where all of that is of this machine as loaded as it was, and may not hold for a quiet one.
    """

    row: RunRow
    rival: RunRow
    ratio: float
    low: float
    high: float
    condition: Condition | None = None

    def __str__(self) -> str:
        """Return who it is and by how much."""
        where = f", {self.condition} machine" if self.condition is not None else ""
        return f"{self.row.label} {self.ratio:.2f}x {self.rival.label} [{self.low:.2f}, {self.high:.2f}]{where}"


class RunTable(Displayable):
    """One table of a run: one model at one batch size.

    Attributes:
        number: Its place in the run, counted from 0.
        result: Everything that is known of it, as the document holds it.
        rows: Its rows, in the order in which they were asked for.
    """

    def __init__(self, document: RunDocument, number: int) -> None:
        self._document = document
        self.number = number
        self.result: GroupResult = document.groups[number]
        self._sources = tuple(source for source in row_sources(document) if source.table is self.result)
        self.rows: tuple[RunRow, ...] = tuple(map(run_row, self._sources))

    @property
    def model(self) -> str:
        """The model that was measured."""
        return self.result.model

    @property
    def batch(self) -> int:
        """Samples per inference."""
        return self.result.batch

    @property
    def winner(self) -> TableWinner | None:
        """The fastest row; ``None`` where no row is known to be the fastest (``result.lead.reason`` says why)."""
        winner = self.result.winner
        if winner is None:
            return None
        by_id = dict(zip((cell.id for cell in self.result.cells), self.rows, strict=True))
        return TableWinner(
            by_id[winner.cell], by_id[winner.rival], winner.value, winner.low, winner.high, winner.condition
        )

    def to_pandas(self, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows as a DataFrame; takes and raises what :meth:`Run.to_pandas` does."""
        return _rows_to_pandas(table_of(self._sources, chosen_columns(columns)))

    def __repr__(self) -> str:
        """Return the model, the batch and how many rows there are."""
        return plain(f"<RunTable {self.model} batch {self.batch}, {len(self.rows)} rows>")

    def __rich__(self) -> RenderableType:
        """Return the table as ``irbench show`` prints it; called by rich."""
        from irbench.render.speed_table import GroupView

        return GroupView(self.result, self._document.environment, self._document.plan)


class Run(Plottable, Displayable):
    """One stored run.

    Attributes:
        document: All that is known of it, as ``run.json`` holds it.
        folder: Where it is stored, with its raw samples and logs.
        tables: One for each model and batch size; none where cold starts were measured, or rows soaked.
    """

    def __init__(self, document: RunDocument, folder: Path) -> None:
        self.document = document
        self.folder = folder
        self.tables: tuple[RunTable, ...] = tuple(RunTable(document, number) for number in range(len(document.groups)))

    @property
    def id(self) -> str:
        """Its ULID."""
        return self.document.run_id

    @property
    def name(self) -> str:
        """What the user called it; empty without a name."""
        return self.document.plan.name

    @property
    def note(self) -> str:
        """What is to be remembered of it."""
        return self.document.plan.note

    @property
    def created(self) -> str:
        """When it began, ISO 8601, UTC."""
        return self.document.created

    @property
    def interrupted(self) -> bool:
        """Whether it was ended by Ctrl-C or a request to end."""
        return self.document.was_interrupted

    @property
    def cold_starts(self) -> tuple[ColdTable, ...]:
        """Its tables of cold starts; empty unless it was called with ``cold=True``."""
        return self.document.cold_starts

    @property
    def soaks(self) -> tuple[SoakTable, ...]:
        """Its tables of :func:`irbench.soak`; empty for any other run."""
        return self.document.soaks

    @property
    def serving(self) -> tuple[ServingTable, ...]:
        """Its tables of :func:`irbench.serve`; empty for any other run."""
        return self.document.serving

    @property
    def counters(self) -> tuple[CounterTable, ...]:
        """What was counted besides speeds, one for each of ``tables``; empty unless called with ``counters``."""
        return self.document.counters

    @property
    def rows(self) -> tuple[RunRow, ...]:
        """The rows of all tables."""
        return tuple(row for table in self.tables for row in table.rows)

    @property
    def table(self) -> RunTable:
        """The only table.

        Raises:
            IrbenchError: There are several, or none.
        """
        if len(self.tables) != 1:
            elsewhere = next((kind for kind in ("cold_starts", "soaks", "serving") if getattr(self, kind)), "tables")
            raise IrbenchError(
                f"The run has {len(self.tables)} tables of speeds.", hint=f"Choose one, for example run.{elsewhere}[0]."
            )
        return self.tables[0]

    @property
    def winner(self) -> TableWinner | None:
        """The fastest row of the only table; raises as :attr:`table` does."""
        return self.table.winner

    def samples(self) -> Iterator[SampleLine]:
        """Yield every raw sample, each launch's file compared with its checksum.

        A sample is a named tuple; durations are integers in nanoseconds.

        Raises:
            IrbenchError: A file is missing, changed or damaged.
        """
        from irbench.render.sample_lines import samples_of
        from irbench.store.runs import check_launches, read_launches

        check_launches(self.folder, self.document)
        return samples_of(self.document, read_launches(self.folder, self.document), self.folder)

    def to_pandas(self, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Return the rows of all tables as a DataFrame, also those of cold starts and soaks.

        Args:
            columns: Names of columns, as docs/exports.md lists them; ``None`` for all.

        Raises:
            IrbenchError: pandas is not installed, or there is no column of a name.
        """
        return _rows_to_pandas(row_table([self.document], chosen_columns(columns)))

    def to_arrow(self, columns: str | Sequence[str] | None = None) -> pa.Table:
        """Return the rows of all tables as a table of Arrow; units and meanings of columns are metadata of its fields.

        Args:
            columns: As :meth:`to_pandas` takes them.

        Raises:
            IrbenchError: pyarrow is not installed, or there is no column of a name.
        """
        from irbench.render.formats.arrow_files import arrow_table

        return arrow_table(row_table([self.document], chosen_columns(columns)))

    def export(
        self,
        output: str | PathLike[str],
        *,
        format: FormatName | None = None,  # noqa: A002 - the name of the command line's option
        columns: str | Sequence[str] | None = None,
    ) -> None:
        """Write the run to a file for another program.

        Args:
            output: The file; what is there is replaced when the new one is whole.
            format: Which one; ``None`` for that which the name of the file tells.
            columns: As :meth:`to_pandas` takes them; of the formats that are tables.

        Raises:
            IrbenchError: The file extension is unknown, a value is none that the keyword takes, a library
                is not installed, samples are damaged, or the file cannot be written.
        """
        target = given_path("output", output)
        export_run(ExportedRun.of(self.document, self.folder), target, format, chosen_columns(columns))

    def plots(self, *, table: int = 0) -> tuple[Plot, ...]:
        """Return all charts of a table that have something to show.

        Args:
            table: Its number among all tables of the run.

        Raises:
            IrbenchError: There is no such table, samples are damaged, or the extra ``report`` is not installed.
        """
        require_drawing()
        return tuple(map(Plot, self._figures(table)))

    def plot(self, name: str | None = None, *, table: int = 0) -> Plot:
        """Return a chart: shown in notebooks, saved by its ``save``; its ``chart`` is Altair's.

        Args:
            name: ``speedups``, ``latencies``, ``launches``, ``timeline``, ``tradeoff``, ``accuracy``, ``tokens``,
                ``slowdowns`` of :func:`irbench.corun`, ``load-curve`` of :func:`irbench.serve`, or ``fps-batch``,
                ``fps-threads``, ``fps-streams`` and ``fps-instances`` where rows differ in these; the first by default.
            table: Number of the table among all tables of the run.

        Raises:
            IrbenchError: There is no such table or chart, samples are damaged, or the extra ``report`` is not
                installed.
        """
        require_drawing()
        return plot_called(name, self._figures(table))

    def _figures(self, table: int = 0) -> Iterator[Figure]:
        from irbench.charts.records import chart_rows
        from irbench.charts.tables import figures_of_table
        from irbench.runs.run_modes import mode_figures
        from irbench.store.runs import read_launches

        count = len(self.document.tables)
        if not 0 <= table < count:
            raise IrbenchError(f"The run has no table {table}.", hint=f"It has {count}, counted from 0.")
        if table >= len(self.tables):
            return mode_figures(self.document, table, table)
        rows = chart_rows(self.document.groups[table], table)
        return figures_of_table(self.document, table, rows, list(read_launches(self.folder, self.document)))

    def to_text(
        self,
        form: TextFormat = "table",
        *,
        columns: WhichColumns = "usual",
        warnings: bool = False,
        memory: bool = False,
        roofline: bool = False,
    ) -> str:
        """Return the run as text: the tables as people read them, JSON, JSON lines, CSV or Markdown.

        Args:
            form: Which of them.
            columns: Of the tables: ``"usual"``, those that answer which row to choose; ``"all"``; or names of columns.
            warnings: Whether the tables have every warning in full, with its remedy; other forms always hold them all.
            memory: Whether the tables show the memory of rows in place of their speed; other forms always hold both.
            roofline: Whether the tables compare rows with the peaks of the machine (``irbench doctor --peak``), where
                these were known; JSON, JSON lines and CSV always hold that.
        """
        from irbench.runs.document_text import render_document
        from irbench.runs.run_view import DocumentView

        if form == "table":
            if columns == "usual" and not (warnings or memory or roofline):
                return str(self)
            shows = {"warnings": warnings, "memory": memory, "roofline": roofline}
            return as_text(DocumentView(self.document, call=_WHOLE, columns=columns, **shows))
        return render_document(self.document, form)

    def __repr__(self) -> str:
        """Return the run's id, its name and its models."""
        models = ", ".join(dict.fromkeys(table.model for table in self.document.tables))
        return plain(f"<Run {self.id}{f' {self.name!r}' if self.name else ''}: {models or 'no table'}>")

    def __rich__(self) -> RenderableType:
        """Return the tables as ``irbench show`` prints them; called by rich."""
        from irbench.runs.run_view import DocumentView

        return DocumentView(self.document, call=_WHOLE)


def run_row(source: RowSource) -> RunRow:
    """Return a row as Python has it."""
    values = row_values(source)
    return RunRow(**{column.name: values[column.name] for column in fields(RunRow)})


def _rows_to_pandas(table: RowTable) -> pd.DataFrame:
    """Return rows as a DataFrame whose columns have the same types whatever was measured."""
    require_libraries(("pandas",), "pandas is not installed.")
    import pandas as pd

    frame = pd.DataFrame(list(table.scalar_records()), columns=list(table.names))
    return frame.astype({column.name: _pandas_type(column) for column in table.columns if column.type in _PANDAS_TYPES})


def _pandas_type(column: Column[Any]) -> str:
    never_missing, may_be_missing = _PANDAS_TYPES[column.type]
    return may_be_missing if column.is_nullable else never_missing


def finished_run(stored: StoredRun) -> Run:
    """Return a run that was measured.

    Raises:
        Interrupted: It ended early; it is in the ``result``.
    """
    run = Run(stored.document, stored.folder)
    if run.interrupted:
        way = f", and irbench.resume({run.id!r}) continues it" if stored.document.is_resumable else ""
        raise Interrupted(f"what was measured is stored: irbench.load({run.id!r}){way}", run)
    return run
