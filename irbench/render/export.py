"""A run in every format but the terminal's."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import msgspec

from irbench.record import Failure, OutputError
from irbench.render.rows import group_table
from irbench.render.sentences import footer, headline, incomplete, remarks, title
from irbench.result import CellResult, GroupResult, LatencyMs, PhasesMs, Requested, RunDocument, Spans, Speedup
from irbench.store import encode_document

__all__ = ["FORMATS", "render_document"]

FORMATS = ("table", "json", "jsonl", "csv", "md")
"""What ``--format`` takes; ``table`` is made elsewhere, for the console at hand."""

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
}
"""The compound fields of a cell, so that a CSV has the same columns whether or not they were measured."""


def render_document(document: RunDocument, form: str) -> str:
    """Return a run as text.

    Args:
        document: The run.
        form: ``json`` (the whole document), ``jsonl`` (a line for each cell), ``csv`` (a row for each cell, raw
            numbers, empty where nothing was measured) or ``md`` (the tables as people read them).

    Raises:
        ValueError: It is none of these.
    """
    if form == "json":
        return encode_document(document).decode()
    if form == "jsonl":
        return "".join(msgspec.json.encode(row).decode() + "\n" for row in _rows(document))
    if form == "csv":
        return _csv(document)
    if form == "md":
        parts = (*(_markdown(group, document) for group in document.groups), incomplete(document))
        return "\n\n".join(part for part in parts if part) + "\n"
    raise ValueError(form)


def _markdown(group: GroupResult, document: RunDocument) -> str:
    heading = f"### {title(group, document.environment, document.plan)}"
    notes = "\n".join(f"- {line}" for line in (*footer(group), *remarks(group)))
    parts = (heading, headline(group), group_table(group).as_markdown(), notes)
    return "\n\n".join(part for part in parts if part)


def _csv(document: RunDocument) -> str:
    flat = [dict(_flatten(row)) for row in _rows(document)]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(dict.fromkeys(key for row in flat for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return buffer.getvalue()


def _rows(document: RunDocument) -> Iterator[dict[str, Any]]:
    """Yield each cell with what identifies its run and its table."""
    for number, group in enumerate(document.groups):
        for cell in group.cells:
            yield {
                "run_id": document.run_id,
                "created": document.created,
                "group": number,
                "model": group.model,
                "shapes": group.shapes,
                "launches": group.launches,
                "stopped_by": group.stopped_by,
                "preview": group.preview,
                "is_baseline": cell.id == group.baseline,
                **_plain(cell),
            }


def _plain(cell: CellResult) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(cell)
    return plain


def _flatten(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value) of a row whose values are scalars, lists, or mappings of scalars."""
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", _leaf(inner, "x")) for name, inner in value.items())
        elif value is None and key in _PARTS:
            yield from ((f"{key}.{name}", None) for name in _names(_PARTS[key]))
        elif value is not None or key != "peak_memory_bytes":  # its parts have their columns already
            yield key, _leaf(value, "; ")


def _leaf(value: Any, separator: str) -> Any:
    return separator.join(str(element) for element in value) if isinstance(value, list | tuple) else value


def _names(part: Any) -> tuple[str, ...]:
    if issubclass(part, msgspec.Struct):
        return tuple(field.encode_name for field in msgspec.structs.fields(part))
    return tuple(field.name for field in fields(part))
