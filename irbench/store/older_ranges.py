"""Documents from before ranges had fields of their own: the ends of an interval held those of the range as well.

What tells the two apart is stored: a verdict that says ``preview``, or fewer launches than an interval takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from irbench.cold_row import ColdRow, ColdTable
from irbench.counter_row import CounterFigure, CounterTable
from irbench.result import CellResult, GroupResult, RunDocument
from irbench.row_figures import Spans, Speedup, WithEnds

__all__ = ["with_ranges"]

_Figure = TypeVar("_Figure", bound=WithEnds)


def with_ranges(document: RunDocument) -> RunDocument:
    """Return a document in which no range stands for an interval; one that this irbench wrote stays as it is."""
    timing = document.plan.get("timing")
    fewest = timing.get("min_launches") if isinstance(timing, dict) else None
    return replace(
        document,
        groups=tuple(_table(table, fewest if isinstance(fewest, int) else 0) for table in document.groups),
        cold_starts=tuple(map(_cold_table, document.cold_starts)),
        counters=tuple(map(_counter_table, document.counters)),
    )


def _table(table: GroupResult, fewest: int) -> GroupResult:
    lead = table.lead
    if lead is not None and _is_preview(table, lead.launches, fewest):
        lead = _as_range(lead, lead.launches)
    return replace(table, lead=lead, cells=tuple(_row(row, table, fewest) for row in table.cells))


def _is_preview(table: GroupResult, launches: int | None, fewest: int) -> bool:
    """Whether so many launches are too few for an interval; a plan that does not say how many are needed is older."""
    return launches < fewest if fewest and launches is not None else table.preview


def _row(row: CellResult, table: GroupResult, fewest: int) -> CellResult:
    changed: dict[str, Any] = {}
    if row.speedup is not None:
        changed["speedup"] = _with_confidence(_speedup(row.speedup))
    if _is_preview(table, row.launches_measured, fewest):
        changed |= {name: _as_range(spans, row.launches_measured) for name, spans in _spans(row)}
    return replace(row, **changed)


def _spans(row: CellResult) -> Iterator[tuple[str, Spans]]:
    values = ((field.name, getattr(row, field.name)) for field in fields(row))
    yield from ((name, value) for name, value in values if isinstance(value, Spans))


def _speedup(speedup: Speedup) -> Speedup:
    return _as_range(speedup, speedup.launches) if speedup.verdict == "preview" else speedup


def _with_confidence(speedup: Speedup) -> Speedup:
    """Return a speedup whose confidence was that of its table as one that does not say that of its interval."""
    if speedup.confidence is None or speedup.table_confidence is not None:
        return speedup
    return replace(speedup, confidence=None, table_confidence=speedup.confidence)


def _as_range(figure: _Figure, launches: int | None) -> _Figure:
    """Return a figure with the ends of an interval as those of a range; with neither where it is of one launch."""
    if figure.low is None or figure.high is None:
        return figure
    is_single = launches == 1 or (launches is None and figure.low == figure.high)
    low, high = (None, None) if is_single else (figure.low, figure.high)
    changed: Any = figure  # every class of figures is a dataclass
    return cast("_Figure", replace(changed, low=None, high=None, range_low=low, range_high=high))


def _cold_table(table: ColdTable) -> ColdTable:
    return replace(table, rows=tuple(map(_cold_row, table.rows)))


def _cold_row(row: ColdRow) -> ColdRow:
    changed: dict[str, Any] = {}
    if row.speedup is not None:
        changed["speedup"] = _with_confidence(_speedup(row.speedup))
    if row.ready_ms is not None and row.ready_confidence is None:
        changed["ready_ms"] = _as_range(row.ready_ms, len(row.launches))
    return replace(row, **changed)


def _counter_table(table: CounterTable) -> CounterTable:
    return replace(
        table, rows=tuple(replace(row, figures=tuple(map(_counter_figure, row.figures))) for row in table.rows)
    )


def _counter_figure(figure: CounterFigure) -> CounterFigure:
    return figure if figure.confidence is not None else _as_range(figure, figure.launches)
