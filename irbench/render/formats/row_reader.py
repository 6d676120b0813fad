"""The values of a row by column, read with as few look-ups as possible: exports have 190 columns for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from irbench.render.formats.columns import ExportColumn, RowSource
from irbench.render.formats.fields import value_at
from irbench.result import RunDocument
from irbench.store.document import representable

Convert: TypeAlias = Callable[[ExportColumn, Any], Any]
"""Makes of a value, which is not ``None``, what a format holds."""
Find: TypeAlias = Callable[[Any], Any]
"""Returns a part of a row; ``None`` where the row does not have it."""
Placed: TypeAlias = tuple[int, ExportColumn]
"""A column, and its place in a row of the table."""


def plain_value(_column: ExportColumn, value: Any) -> Any:
    """Return a value of JSON, with numbers that JSON has."""
    return representable(value if isinstance(value, float) else msgspec.to_builtins(value))


class RowReader:
    """Reads the columns of one kind of rows, one run after the other.

    Args:
        columns: Of the table; ``None`` for one that rows of this kind do not have.
        convert: What becomes of open-ended values, and of numbers that are not finite.
    """

    def __init__(self, columns: Iterable[ExportColumn | None], convert: Convert) -> None:
        places = list(columns)
        placed = [(place, column) for place, column in enumerate(places) if column is not None]
        self._blank: list[Any] = [None] * len(places)
        self._convert = convert
        self._of_run = [item for item in placed if item[1].is_of_run]
        of_row = [item for item in placed if not item[1].is_of_run]
        self._computed = [item for item in of_row if not item[1].path]
        self._parts = list(_parts([item for item in of_row if item[1].path]))
        self._numbers = [item for item in of_row if item[1].type == "double"]
        self._open_ended = [item for item in of_row if item[1].type == "json"]
        self._run: tuple[RunDocument, list[Any]] | None = None

    def read(self, source: RowSource) -> list[Any]:
        """Return a row's values, one for each column."""
        if self._run is None or self._run[0] is not source.document:
            self._run = source.document, self._values_of_run(source)
        found = self._run[1].copy()
        for place, column in self._computed:
            found[place] = column.value(source)
        for find, places, get in self._parts:
            part = find(source.row)
            if part is not None:
                for place, value in zip(places, get(part), strict=True):
                    found[place] = value
        for place, column in self._numbers:
            if (value := found[place]) is not None and not isfinite(value):
                found[place] = self._convert(column, value)
        for place, column in self._open_ended:
            if (value := found[place]) is not None:
                found[place] = self._convert(column, value)
        return found

    def _values_of_run(self, source: RowSource) -> list[Any]:
        found = self._blank.copy()
        for place, column in self._of_run:
            found[place] = self._convert(column, column.value(source))
        return found


def _parts(columns: list[Placed]) -> Iterator[tuple[Find, tuple[int, ...], Callable[[Any], tuple[Any, ...]]]]:
    """Yield what finds each part of a row, the places of its columns, and what returns their values together."""
    for part in dict.fromkeys(column.path.rpartition(".")[0] for _, column in columns):
        own = [(place, column) for place, column in columns if column.path.rpartition(".")[0] == part]
        yield (
            _finder(part),
            tuple(place for place, _ in own),
            _getter([column.path.rpartition(".")[2] for _, column in own]),
        )


def _finder(path: str) -> Find:
    if not path:
        return lambda row: row
    return attrgetter(path) if "." not in path else lambda row: value_at(row, path)


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda part: (get(part),)
