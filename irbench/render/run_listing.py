"""The stored runs as a table."""

from __future__ import annotations

from collections.abc import Iterable

from irbench.render.outcomes import outcomes_text
from irbench.render.table import Column, Row, TextTable
from irbench.store.entries import RunEntry

__all__ = ["run_table"]

_COLUMNS = (
    Column("run", words=True),
    Column("when (UTC)", words=True, drops=1),
    Column("models", words=True, folds=True),
    Column("launches", drops=3),
    Column("rows", words=True, folds=True, drops=2),
    Column("outcome", words=True, folds=True),
)


def run_table(entries: Iterable[RunEntry]) -> TextTable:
    """Return a row for each run: when it was, what it measured, and what came of it."""
    return TextTable(_COLUMNS, tuple(Row(_cells(entry)) for entry in entries))


def _cells(entry: RunEntry) -> tuple[str, ...]:
    when = entry.created[: len("yyyy-mm-ddThh:mm")].replace("T", " ")
    rows = ", ".join(entry.rows)
    return (entry.run_id, when, ", ".join(entry.models), str(entry.launches), rows, outcomes_text(entry))
