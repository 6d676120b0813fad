"""The values of a row by column, read with as few look-ups as possible: exports have 190 columns for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from irbench.render.formats.columns import ExportColumn, RowSource
from irbench.render.formats.fields import value_at
from irbench.result import RunDocument
from irbench.store.document import representable

_SCALARS = frozenset((str, int, bool))

Convert: TypeAlias = Callable[[ExportColumn, Any], Any]
"""Makes of a value, which is not ``None``, what a format holds."""


def plain_value(_column: ExportColumn, value: Any) -> Any:
    """Return a value of JSON, with numbers that JSON has."""
    return representable(value if isinstance(value, float) else msgspec.to_builtins(value))


class RowReader:
    """Reads the columns of one kind of rows, one run after the other.

    Args:
        columns: Which.
        convert: What becomes of open-ended values, and of scalars that are not finite.
    """

    def __init__(self, columns: Sequence[ExportColumn], convert: Convert) -> None:
        self._columns = {column.name: column for column in columns}
        self._open_ended = frozenset(column.name for column in columns if column.type == "json")
        self._convert = convert
        self._of_run = [column for column in columns if column.is_of_run]
        self._computed = [column for column in columns if not column.is_of_run and not column.path]
        self._parts = list(_parts([column for column in columns if column.path]))
        self._run: tuple[RunDocument, dict[str, Any]] | None = None

    def read(self, source: RowSource) -> dict[str, Any]:
        """Return a row's values by column, in no order; a column may be left out where it has none."""
        if self._run is None or self._run[0] is not source.document:
            self._run = source.document, self._plain({column.name: column.value(source) for column in self._of_run})
        found = {column.name: column.value(source) for column in self._computed}
        for path, names, get in self._parts:
            part = value_at(source.row, path) if path else source.row
            if part is not None:
                found.update(zip(names, get(part), strict=True))
        return self._run[1] | self._plain(found)

    def _plain(self, values: dict[str, Any]) -> dict[str, Any]:
        found = {name: value for name, value in values.items() if value is not None}
        for name, value in found.items():
            kind = type(value)
            if name in self._open_ended or not (kind in _SCALARS or (kind is float and isfinite(value))):
                found[name] = self._convert(self._columns[name], value)
        return found


def _parts(columns: Sequence[ExportColumn]) -> Iterator[tuple[str, tuple[str, ...], Callable[[Any], tuple[Any, ...]]]]:
    """Yield each part of a row with the names of its columns, and what returns their values together."""
    for path in dict.fromkeys(column.path.rpartition(".")[0] for column in columns):
        own = [column for column in columns if column.path.rpartition(".")[0] == path]
        yield path, tuple(column.name for column in own), _getter([column.path.rpartition(".")[2] for column in own])


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda part: (get(part),)
