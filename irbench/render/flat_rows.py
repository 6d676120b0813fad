"""Rows as flat records: JSON Lines, and CSV with the same columns for every run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import msgspec

from irbench.cold_row import ColdRow
from irbench.render.origin import command_text, machine_text, versions
from irbench.result import CellResult, RunDocument
from irbench.soak_row import SoakRow

__all__ = ["CSV_COLUMNS", "as_csv", "as_json_lines", "compound_fields"]


def as_json_lines(document: RunDocument) -> str:
    """Return a JSON object for each cell, one on a line."""
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in _rows(document))


def as_csv(document: RunDocument) -> str:
    """Return a row for each cell: raw numbers, empty where nothing was measured, JSON where a field is open-ended."""
    buffer = io.StringIO()
    columns, parts = _columns(document)
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(dict(_flatten(row, parts)) for row in _rows(document))
    return buffer.getvalue()


def _columns(document: RunDocument) -> tuple[Sequence[str], Mapping[str, Any]]:
    """Return the columns of the kind of tables that the run has, and the fields whose parts have some of their own."""
    if document.cold_starts:
        return _csv_columns(_COLD_TABLE, ColdRow, left_out="launches"), compound_fields(ColdRow)
    if document.soaks:
        return _csv_columns(_SOAK_TABLE, SoakRow, left_out="series"), compound_fields(SoakRow)
    return CSV_COLUMNS, _PARTS


def _rows(document: RunDocument) -> Iterator[dict[str, Any]]:
    """Yield each cell with what identifies its run and its table."""
    run = {
        "run_id": document.run_id,
        "run_name": document.plan.get("name") or "",
        "run_note": document.plan.get("note") or "",
        "created": document.created,
        "irbench_version": document.irbench_version,
        "machine": machine_text(document),
        "versions": versions(document),
        "command": command_text(document),
    }
    for number, group in enumerate(document.groups):
        table = {
            "group": number,
            "model": group.model,
            "shapes": group.shapes,
            "launches": group.launches,
            "stopped_by": group.stopped_by,
            "preview": group.preview,
        }
        for cell in group.cells:
            row = {**msgspec.to_builtins(cell), "model": cell.model or group.model}
            yield {**run, **table, "is_baseline": cell.id == group.baseline, **row}
    yield from ({**run, **row} for row in (*_cold_rows(document), *_soak_rows(document)))


def _cold_rows(document: RunDocument) -> Iterator[dict[str, Any]]:
    for number, table in enumerate(document.cold_starts):
        facts = {"group": number, **{name: getattr(table, name) for name in _COLD_TABLE}}
        for row in table.rows:
            yield {**facts, "is_baseline": row.id == table.baseline, **msgspec.to_builtins(row)}


def _soak_rows(document: RunDocument) -> Iterator[dict[str, Any]]:
    for number, table in enumerate(document.soaks):
        facts = {"group": number, **{name: getattr(table, name) for name in _SOAK_TABLE}}
        for row in table.rows:
            yield {**facts, "is_baseline": None, **msgspec.to_builtins(row)}


def _flatten(row: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each column with its value."""
    for key, value in row.items():
        if key in parts:
            yield from ((f"{key}.{name}", _leaf((value or {}).get(name))) for name in _names(parts[key]))
        else:
            yield key, _leaf(value)


def _leaf(value: Any) -> Any:
    """Return a scalar as it is, and what is open-ended as JSON."""
    is_compound = isinstance(value, Mapping | Sequence) and not isinstance(value, str)
    return msgspec.json.encode(value).decode() if is_compound else value


def compound_fields(row_type: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are one dataclass or struct, or null, each with its type."""
    types = {name: _without_null(hint) for name, hint in get_type_hints(row_type).items()}
    return {name: hint for name, hint in types.items() if is_dataclass(hint) or _is_struct(hint)}


def _without_null(hint: Any) -> Any:
    alternatives = [item for item in get_args(hint) if item is not NoneType]
    return alternatives[0] if isinstance(hint, UnionType) and len(alternatives) == 1 else hint


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _names(part: Any) -> tuple[str, ...]:
    if _is_struct(part):
        return tuple(field.encode_name for field in msgspec.structs.fields(part))
    return tuple(field.name for field in fields(part))


_PARTS = compound_fields(CellResult)
"""The fields of a cell whose parts have columns of their own."""

_RUN = ("run_id", "run_name", "run_note", "created", "irbench_version", "machine", "versions", "command")
_COLD_TABLE = ("model", "shapes", "rounds", "stopped_by", "preview")
_SOAK_TABLE = ("model", "shapes", "growth_limit", "stopped_by")


def _csv_columns(of_table: Sequence[str], row_type: Any, left_out: str = "") -> tuple[str, ...]:
    parts = compound_fields(row_type)
    of_row = (
        column
        for name in _names(row_type)
        if name != left_out
        for column in ([f"{name}.{part}" for part in _names(parts[name])] if name in parts else [name])
    )
    return tuple(dict.fromkeys((*_RUN, "group", *of_table, "is_baseline", *of_row)))


CSV_COLUMNS = _csv_columns(("model", "shapes", "launches", "stopped_by", "preview"), CellResult)
