"""Rows as text for other programs: comma-separated values, JSON Lines, and a table of Markdown."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from irbench.render.columns.declaration import Column as RunColumn
from irbench.render.formats.row_table import RowTable
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.text_formats import csv_cell, json_line


def as_csv(table: RowTable) -> Iterator[str]:
    """Yield the heading and a line for each row: raw numbers, empty where nothing was measured."""
    writer = csv.writer(_Lines(), lineterminator="\n")
    yield writer.writerow(table.names)
    texts = [place for place, column in enumerate(table.columns) if column.type in ("string", "json")]
    for row in table.scalar_rows():
        for place in texts:
            if row[place]:
                row[place] = csv_cell(row[place])
        yield writer.writerow(row)


class _Lines:
    def write(self, line: str) -> str:
        return line


def as_json_lines(table: RowTable) -> Iterator[str]:
    """Yield an object for each row, on a line of its own: null where nothing was measured."""
    for record in table.records():
        yield json_line(record) + "\n"


def as_markdown(table: RowTable) -> Iterator[str]:
    """Yield a table with a line for each row: raw numbers, ``-`` where nothing was measured."""
    rows = tuple(Row(tuple(map(_cell, record.values()))) for record in table.scalar_records())
    yield TextTable(tuple(map(_heading, table.columns)), rows).as_markdown() + "\n"


def _heading(column: RunColumn[Any]) -> TableColumn:
    return TableColumn(column.name, words=column.type in ("string", "json", "bool"))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None or value == "" else str(value)
