"""A run in every format but the terminal's."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import msgspec

from irbench.render.group import group_table
from irbench.render.sentences import footer, title, winner_sentence
from irbench.result import CellResult, GroupResult, RunDocument

__all__ = ["FORMATS", "render_document"]

FORMATS = ("table", "json", "jsonl", "csv", "md")
"""What ``--format`` takes; ``table`` is made elsewhere, for the console at hand."""


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
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    if form == "jsonl":
        return "\n".join(msgspec.json.encode(row).decode() for row in _flat_rows(document))
    if form == "csv":
        return _csv(document)
    if form == "md":
        return "\n\n".join(_markdown(group) for group in document.groups)
    raise ValueError(form)


def _markdown(group: GroupResult) -> str:
    lines = [f"**{title(group)}**", winner_sentence(group), group_table(group).as_markdown(), *footer(group)]
    lines += [f"**!** {warning.message} {warning.remedy}" for warning in group.warnings]
    return "\n\n".join(line for line in lines if line)


def _csv(document: RunDocument) -> str:
    rows = list(_flat_rows(document))
    flat = [dict(_flatten(row)) for row in rows]
    headings = list(dict.fromkeys(key for row in flat for key in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, headings, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return buffer.getvalue()


def _flat_rows(document: RunDocument) -> Iterator[dict[str, object]]:
    for group in document.groups:
        for cell in group.cells:
            names = {"run_id": document.run_id, "model": group.model}
            yield {**names, "is_baseline": cell.id == group.baseline, **_plain(cell)}


def _plain(cell: CellResult) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(cell)
    return plain


def _flatten(value: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (path, leaf) of nested mappings; a list becomes one text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list):
        yield prefix, "; ".join(str(one) for one in value)
    else:
        yield prefix, value
