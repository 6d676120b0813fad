"""Runs as one table: a row for each of their rows, whatever became of it, and the columns that every format has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import Any, TypeAlias

import msgspec

from irbench.core.cold_row import cold_names
from irbench.core.result import RunDocument
from irbench.core.row import distinguish, name_of, row_names
from irbench.core.serving_row import ServingRow, serving_names
from irbench.core.suggestions import nearest
from irbench.errors import IrbenchError
from irbench.render.columns import COLUMNS, columns_of
from irbench.render.columns.declaration import KINDS, Column, Kind, RowSource
from irbench.render.text_formats import json_line
from irbench.store.run_document import representable
from irbench.store.runs import Outline

Convert: TypeAlias = Callable[[Column[Any], Any], Any]
"""Makes of a value, which is not ``None``, what a format holds."""


def plain_value(_column: Column[Any], value: Any) -> Any:
    """Return a value of JSON, with numbers that JSON has."""
    return representable(value if isinstance(value, float) else msgspec.to_builtins(value))


class RowReader:
    """Reads the columns of one kind of rows, one run after the other."""

    def __init__(self, kind: Kind, columns: Sequence[Column[Any]], convert: Convert) -> None:
        places = list(enumerate(columns))
        self._blank: list[Any] = [None] * len(places)
        self._convert = convert
        self._of_run = [(place, column, column.run) for place, column in places if column.run]
        self._of_source = [(place, read) for place, column in places if (read := column.of_source(kind))]
        self._of_row = [(place, read) for place, column in places if (read := column.of_row(kind))]
        self._numbers = [item for item in places if item[1].type == "double"]
        self._open_ended = [item for item in places if item[1].type == "json" and not item[1].run]
        self._run: tuple[RunDocument, list[Any]] | None = None

    def read(self, source: RowSource) -> list[Any]:
        """Return a row's values, one for each column."""
        if self._run is None or self._run[0] is not source.document:
            self._run = source.document, self._values_of_run(source.document)
        values, row = self._run[1].copy(), source.row
        for place, of_source in self._of_source:
            values[place] = of_source(source)
        for place, of_row in self._of_row:
            values[place] = of_row(row)
        for place, column in self._numbers:
            if (value := values[place]) is not None and not isfinite(value):
                values[place] = self._convert(column, value)
        for place, column in self._open_ended:
            if (value := values[place]) is not None:
                values[place] = self._convert(column, value)
        return values

    def _values_of_run(self, document: RunDocument) -> list[Any]:
        values = self._blank.copy()
        for place, column, read in self._of_run:
            values[place] = self._convert(column, read(document))
        return values


@dataclass(frozen=True)
class RowTable:
    """Rows of runs.

    Attributes:
        sources: What the rows are made of, whenever they are asked for.
    """

    columns: tuple[Column[Any], ...]
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

    def _rows(self, convert: Convert) -> Iterator[list[Any]]:
        readers = {kind: RowReader(kind, self.columns, convert) for kind in KINDS}
        for source in self.sources:
            yield readers[source.kind].read(source)


def row_table(documents: Sequence[RunDocument], chosen: Sequence[str] = ()) -> RowTable:
    """Return all rows of runs."""
    return table_of([source for document in documents for source in row_sources(document)], chosen)


def table_of(sources: Iterable[RowSource], chosen: Sequence[str] = (), kinds: tuple[Kind, ...] = ()) -> RowTable:
    """Return a table of these rows."""
    check_columns(chosen)
    kinds_of_rows = kinds or tuple(dict.fromkeys(source.kind for source in sources)) or ("speed",)
    return RowTable(_columns(kinds_of_rows, chosen), sources)


def kinds_of(document: RunDocument | Outline) -> tuple[Kind, ...]:
    """Return of which kinds the rows of a run are."""
    tables: Mapping[Kind, bool] = {
        "speed": any(group.cells for group in document.groups),
        "cold-start": any(cold.rows for cold in document.cold_starts),
        "soak": any(soak.rows for soak in document.soaks),
        "load": any(serving.rows for serving in document.serving),
    }
    return tuple(kind for kind, has_rows in tables.items() if has_rows)


def row_values(source: RowSource) -> dict[str, Any]:
    """Return the value of every column that a row's kind has, with numbers that every format can hold."""
    values = copy(_reader(source.kind)).read(source)
    return {column.name: value for column, value in zip(columns_of(source.kind), values, strict=True)}


@cache
def _reader(kind: Kind) -> RowReader:
    """Return what reads all columns of a kind; a copy of it reads a row, so that none is held."""
    return RowReader(kind, columns_of(kind), plain_value)


def check_columns(names: Sequence[str]) -> None:
    """Refuse names that no column has, all of them at once."""
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
    for number, serving in enumerate(document.serving):
        names = serving_names(serving)
        yield from (
            RowSource(document, "load", number, serving, row, _loaded(names[row.id], row)) for row in serving.rows
        )


def _loaded(name: str, row: ServingRow) -> str:
    rate = None if row.load is None else row.load.rate_per_s
    return name if rate is None else f"{name}, {rate:g}/s"


def _columns(kinds: Sequence[Kind], chosen: Sequence[str]) -> tuple[Column[Any], ...]:
    names = chosen or [name for name, column in COLUMNS.items() if any(map(column.has, kinds))]
    return tuple(_for_kinds(COLUMNS[name], kinds) for name in dict.fromkeys(names))


def _for_kinds(column: Column[Any], kinds: Sequence[Kind]) -> Column[Any]:
    """Return a column of several kinds of rows: a value may be missing where one of them does not have it."""
    if all(map(column.has, kinds)):
        return column
    return replace(column, values=replace(column.values, is_nullable=True))


def _with_suggestion(name: str) -> str:
    near = nearest(name, COLUMNS)
    return f"{name!r} (did you mean {near}?)" if near else repr(name)


def _scalar(column: Column[Any], value: Any) -> Any:
    if column.type != "json":
        return plain_value(column, value)
    text = json_line(value)
    return json_line(plain_value(column, value)) if "null" in text else text  # which may stand for an infinity


def named_rows(documents: Sequence[RunDocument]) -> Iterator[tuple[str, RowSource]]:
    """Yield each row with its name as a benchmark: model, shapes, row, and what was requested of it.

    A name does not depend on which other rows were measured, so that it is found again in another run. Where rows of a
    file would have the same one, the run is added, and if that does not tell them apart, their place in it.
    """
    sources = [source for document in documents for source in row_sources(document)]
    names = [_benchmark_name(source) for source in sources]
    for place in (_run, _place):
        often = Counter(names)
        names = [
            name if often[name] == 1 else f"{_benchmark_name(source)} ({place(source)})"
            for name, source in zip(names, sources, strict=True)
        ]
    yield from zip(names, sources, strict=True)


def _benchmark_name(source: RowSource) -> str:
    row, requested = source.row, source.row.requested
    parts = (
        source.model,
        source.shapes,
        f"batch={row.batch}",
        row.label,
        requested.precision,
        "native threads" if requested.threads is None else f"threads={requested.threads}",
        "bound" if row.io == "bound" else "",
        f"{row.cache} cache" if source.kind == "cold-start" else "",
        source.kind if source.kind in ("soak", "load") else "",
    )
    return " ".join(part for part in parts if part)


def _run(source: RowSource) -> str:
    return source.document.plan.name or source.document.run_id


def _place(source: RowSource) -> str:
    return f"run {source.document.run_id}, table {source.table_number}, {source.row.id}"
