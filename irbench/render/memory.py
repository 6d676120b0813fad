"""The memory of a table's rows: the peak, and what was added by the runtime, the model and the calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from irbench.quantities import NOT_MEASURED
from irbench.render.footer import reason
from irbench.render.plain_view import PlainView
from irbench.render.table import Column, Row, TextTable
from irbench.render.table_title import title
from irbench.result import GroupResult
from irbench.row import CellResult
from irbench.row_names import row_names

_COLUMNS = (
    Column("backend", words=True),
    Column("prec", words=True, drops=2),
    Column("peak MB"),
    Column("private MB"),
    Column("runtime"),
    Column("model"),
    Column("calls"),
    Column("graph file", drops=1),
)
_LEGEND = (
    "peak: resident, of the whole life of the process · private: at the end, what no other process shares",
    "private memory after the import of the runtime, then what loading and compiling the model added, then the calls",
    "all private memory is that of the launch with the most at its end; the peak is the largest of all launches",
)


def memory_view(result: GroupResult, environment: Mapping[str, Any], plan: Mapping[str, Any]) -> PlainView:
    """Return the view of the memory of a table's rows.

    Args:
        result: The table.
        environment: The machine, from the run's document.
        plan: What was asked for, from the run's document.
    """
    names = row_names(result.cells)
    rows = tuple(_row(cell, names[cell.id]) for cell in result.cells)
    return PlainView(title(result, environment, plan), "", TextTable(_COLUMNS, rows), tuple(_notes(result)))


def _row(cell: CellResult, name: str) -> Row:
    if cell.latency_ms is None:
        return Row((name, NOT_MEASURED), reason(cell), "red" if cell.state == "failed" else "dim")
    private = cell.private_memory_bytes or {}
    imported, compiled, end = (private.get(phase) for phase in ("import", "compile", "run"))
    sizes = (
        (cell.peak_memory_bytes or {}).get("process"),
        end,
        imported,
        _growth(imported, compiled),
        _growth(compiled, end),
        cell.graph_files.size_bytes if cell.graph_files is not None else None,
    )
    return Row((name, str(cell.effective.get("precision", NOT_MEASURED)), *map(_megabytes, sizes)))


def _notes(result: GroupResult) -> Iterator[str]:
    yield from _LEGEND
    if any(cell.requested.instances > 1 for cell in result.cells):
        yield "of several processes: the sum"


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _megabytes(size: int | None) -> str:
    return NOT_MEASURED if size is None else f"{size / 1e6:,.1f}"
