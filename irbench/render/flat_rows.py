"""Each row of a run by itself: as JSON lines, and as CSV whose columns are the same for every run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec

from irbench.record import Failure, OutputError
from irbench.render.origin import command_text, machine_text, versions
from irbench.result import CellResult, LatencyMs, PhasesMs, Requested, RunDocument, Spans, Speedup
from irbench.spec import Disagreement

__all__ = ["CSV_COLUMNS", "as_csv", "as_json_lines"]

_PARTS: Mapping[str, Any] = {
    "requested": Requested,
    "failure": Failure,
    "latency_ms": LatencyMs,
    "speedup": Speedup,
    "output_error": OutputError,
    "p50_over_launches": Spans,
    "p90_over_launches": Spans,
    "fps_over_launches": Spans,
    "sustained_over_launches": Spans,
    "phases_ms": PhasesMs,
    "disagreement": Disagreement,
}
"""The fields of a cell whose parts have columns of their own."""


def as_json_lines(document: RunDocument) -> str:
    """Return a JSON object for each cell, one on a line."""
    return "".join(msgspec.json.encode(row).decode() + "\n" for row in _rows(document))


def as_csv(document: RunDocument) -> str:
    """Return a row for each cell: raw numbers, empty where nothing was measured, JSON where a field is open-ended."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(dict(_flatten(row)) for row in _rows(document))
    return buffer.getvalue()


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
            yield {**run, **table, "is_baseline": cell.id == group.baseline, **msgspec.to_builtins(cell)}


def _flatten(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each column with its value."""
    for key, value in row.items():
        if key in _PARTS:
            yield from ((f"{key}.{name}", _leaf((value or {}).get(name))) for name in _names(_PARTS[key]))
        else:
            yield key, _leaf(value)


def _leaf(value: Any) -> Any:
    """Return a scalar as it is, and what is open-ended as JSON."""
    is_compound = isinstance(value, Mapping | Sequence) and not isinstance(value, str)
    return msgspec.json.encode(value).decode() if is_compound else value


def _names(part: Any) -> tuple[str, ...]:
    if issubclass(part, msgspec.Struct):
        return tuple(field.encode_name for field in msgspec.structs.fields(part))
    return tuple(field.name for field in fields(part))


CSV_COLUMNS = (
    *("run_id", "run_name", "run_note", "created", "irbench_version", "machine", "versions", "command"),
    *("group", "model", "shapes", "launches", "stopped_by", "preview", "is_baseline"),
    *(
        column
        for name in _names(CellResult)
        for column in ([f"{name}.{part}" for part in _names(_PARTS[name])] if name in _PARTS else [name])
    ),
)
