"""Runs as one table: a row for each of their rows, whatever became of it, and the columns that every format has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from irbench.cold_row import cold_names
from irbench.errors import IrbenchError
from irbench.render.formats.columns import COLUMNS, COLUMNS_OF_KIND, ExportColumn, Kind, RowSource
from irbench.render.formats.row_reader import RowReader, plain_value
from irbench.render.json_text import json_line
from irbench.result import RunDocument
from irbench.row_names import distinguish, name_of, row_names
from irbench.store.reading import Outline
from irbench.suggestions import nearest

_BY_NAME_OF_KIND: Mapping[Kind, Mapping[str, ExportColumn]] = {
    kind: {column.name: column for column in columns} for kind, columns in COLUMNS_OF_KIND.items()
}


@dataclass(frozen=True)
class RowTable:
    """Rows of runs.

    Attributes:
        columns: From left to right.
        sources: What the rows are made of, whenever they are asked for.
    """

    columns: tuple[ExportColumn, ...]
    sources: Iterable[RowSource]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:
        """A value for each column of each row: scalars, ``None``, and what becomes JSON."""
        return tuple(map(tuple, self._rows(plain_value)))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield each row as its values by column."""
        return (dict(zip(self.names, row, strict=True)) for row in self._rows(plain_value))

    def scalar_records(self) -> Iterator[dict[str, Any]]:
        """Yield each row as its scalars by column: what is open-ended is JSON text."""
        return (dict(zip(self.names, row, strict=True)) for row in self.scalar_rows())

    def scalar_rows(self) -> Iterator[list[Any]]:
        """Yield the scalars of each row, in the order of the columns."""
        return self._rows(_scalar)

    def _rows(self, convert: Callable[[ExportColumn, Any], Any]) -> Iterator[list[Any]]:
        readers = {kind: RowReader(map(columns.get, self.names), convert) for kind, columns in _BY_NAME_OF_KIND.items()}
        for source in self.sources:
            yield readers[source.kind].read(source)


def row_table(documents: Sequence[RunDocument], chosen: Sequence[str] = ()) -> RowTable:
    """Return all rows of runs.

    Args:
        documents: The runs, in the order in which their rows come.
        chosen: Names of columns; none for all that the kinds of tables at hand have.

    Raises:
        IrbenchError: There is no column of a name.
    """
    return table_of([source for document in documents for source in row_sources(document)], chosen)


def table_of(sources: Iterable[RowSource], chosen: Sequence[str] = (), kinds: tuple[Kind, ...] = ()) -> RowTable:
    """Return a table of these rows.

    Args:
        sources: What they are made of; can be gone through more than once.
        chosen: Names of columns; none for all that the kinds of rows have.
        kinds: Of the rows; none where they are to be looked at.

    Raises:
        IrbenchError: There is no column of a name.
    """
    check_columns(chosen)
    found = kinds or tuple(dict.fromkeys(source.kind for source in sources)) or ("speed",)
    return RowTable(_columns(found, chosen), sources)


def kinds_of(document: RunDocument | Outline) -> tuple[Kind, ...]:
    """Return of which kinds the rows of a run are."""
    tables: Mapping[Kind, bool] = {
        "speed": any(group.cells for group in document.groups),
        "cold-start": any(cold.rows for cold in document.cold_starts),
        "soak": any(soak.rows for soak in document.soaks),
    }
    return tuple(kind for kind, has_rows in tables.items() if has_rows)


def row_values(source: RowSource) -> dict[str, Any]:
    """Return the value of every column that a row's kind has, with numbers that every format can hold."""
    values = copy(_reader(source.kind)).read(source)
    return {column.name: value for column, value in zip(COLUMNS_OF_KIND[source.kind], values, strict=True)}


@cache
def _reader(kind: Kind) -> RowReader:
    """Return what reads all columns of a kind; a copy of it reads a row, so that none is held."""
    return RowReader(COLUMNS_OF_KIND[kind], plain_value)


def check_columns(names: Sequence[str]) -> None:
    """Refuse names that no column has, all of them at once.

    Raises:
        IrbenchError: There are such names.
    """
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        what = "is no column" if len(unknown) == 1 else "are no columns"
        raise IrbenchError(
            f"There {what} {', '.join(map(_with_suggestion, unknown))}.",
            hint="docs/exports.md lists the columns, and irbench show --format csv shows them.",
        )


def row_sources(document: RunDocument) -> Iterator[RowSource]:
    """Yield the rows of a run, table by table."""
    for number, group in enumerate(document.groups):
        names = row_names(group.cells)
        yield from (RowSource(document, "speed", number, group, cell, names[cell.id]) for cell in group.cells)
    for number, cold in enumerate(document.cold_starts):
        labels = cold_names(cold)
        yield from (
            RowSource(document, "cold-start", number, cold, row, labels[row.id, row.cache]) for row in cold.rows
        )
    for number, soak in enumerate(document.soaks):
        names = distinguish({row.id: name_of(row) for row in soak.rows})
        yield from (RowSource(document, "soak", number, soak, row, names[row.id]) for row in soak.rows)


def _columns(kinds: Sequence[Kind], chosen: Sequence[str]) -> tuple[ExportColumn, ...]:
    of_kinds = [_BY_NAME_OF_KIND[kind] for kind in kinds]
    wanted = chosen or [name for name in COLUMNS if any(name in columns for columns in of_kinds)]
    return tuple(_merged(name, of_kinds) for name in dict.fromkeys(wanted))


def _merged(name: str, of_kinds: Sequence[Mapping[str, ExportColumn]]) -> ExportColumn:
    """Return a column of several kinds of rows: a value may be missing where one of them does not have it."""
    found = [columns[name] for columns in of_kinds if name in columns]
    may_be_null = len(found) < len(of_kinds) or any(column.is_nullable for column in found)
    return replace(COLUMNS[name], is_nullable=may_be_null)


def _with_suggestion(name: str) -> str:
    near = nearest(name, COLUMNS)
    return f"{name!r} (did you mean {near}?)" if near else repr(name)


def _scalar(column: ExportColumn, value: Any) -> Any:
    if column.type != "json":
        return plain_value(column, value)
    text = json_line(value)
    return json_line(plain_value(column, value)) if "null" in text else text  # which may stand for an infinity
