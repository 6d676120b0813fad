"""OpenMetrics: a gauge for each column of numbers, labelled with the row, and a description of every row.

Numbers are in the base units of Prometheus, seconds and bytes, and names end with them. The format is that of the
OpenMetrics specification 1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from irbench.core.plain_text import plain_lines
from irbench.render.columns.declaration import Column
from irbench.render.formats.exported_run import Export
from irbench.render.formats.row_table import RowTable

_LABELS = {
    "run_id": "run_id",
    "table": "table",
    "model": "model",
    "batch": "batch",
    "shapes": "shapes",
    "label": "row",
    "backend": "backend",
    "device": "device",
    "precision": "precision",
    "threads": "threads",
    "streams": "streams",
    "instances": "instances",
    "condition": "condition",
}
"""What tells rows apart and what their figures hold under, by column."""

_PER_SECOND = {"_ms": 1e3, "_ns": 1e9, "_s": 1.0}
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True)
class _Family:
    """A metric family.

    Attributes:
        unit: Empty for ratios and counts.
        divisor: Of the column's values; none where they stay as they are.
    """

    name: str
    unit: str = ""
    divisor: float | None = None


@dataclass(frozen=True)
class _MetricRow:
    """A row."""

    labels: str
    record: Mapping[str, Any]
    timestamp_s: int


def as_openmetrics(export: Export) -> Iterator[str]:
    """Yield the metrics of all rows, at the moment of their run; a row without figures has its description only."""
    table = export.table
    rows = [_row(record) for record in table.records()]
    yield from _descriptions(table, rows)
    for column in table.columns:
        if column.type in ("int64", "double") and column.name not in _LABELS:
            yield from _gauge(column, [row for row in rows if row.record[column.name] is not None])
    yield "# EOF\n"


def _row(record: Mapping[str, Any]) -> _MetricRow:
    created = datetime.fromisoformat(record["created"])
    identity = {label: _text(record.get(column)) for column, label in _LABELS.items()}
    return _MetricRow(_labels(identity), record, int(created.timestamp()))


def _descriptions(table: RowTable, rows: Sequence[_MetricRow]) -> Iterator[str]:
    columns = [column for column in table.columns if column.type in ("string", "bool") and column.name not in _LABELS]
    yield "# TYPE irbench_row info\n# HELP irbench_row What a row is, and what became of it.\n"
    for row in rows:
        facts = {column.name: _text(row.record[column.name]) for column in columns}
        more = _labels({name: text for name, text in facts.items() if text})
        yield f"irbench_row_info{{{row.labels},{more}}} 1 {row.timestamp_s}\n"


def _gauge(column: Column[Any], measured: Sequence[_MetricRow]) -> Iterator[str]:
    if not measured:
        return
    family = _family(column)
    yield f"# TYPE {family.name} gauge\n"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}\n"
    yield f"# HELP {family.name} {column.meaning.translate(_ESCAPES)}\n"
    for row in measured:
        value = row.record[column.name]
        shown = value if family.divisor is None else value / family.divisor
        yield f"{family.name}{{{row.labels}}} {shown} {row.timestamp_s}\n"


def _family(column: Column[Any]) -> _Family:
    for ending, per_second in _PER_SECOND.items():
        if column.name.endswith(ending):
            return _Family(f"irbench_{column.name.removesuffix(ending)}_seconds", "seconds", per_second)
    unit = column.unit.replace(" ", "_")
    return _Family(f"irbench_{column.name}", unit if column.name.endswith(unit) else "")


def _labels(texts: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in texts.items())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else plain_lines(str(value))
