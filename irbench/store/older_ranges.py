"""Documents from before ranges had fields of their own: the ends of an interval held those of the range as well.

What tells the two apart is stored: a verdict that says ``preview``, or fewer launches than an interval takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from operator import is_
from typing import Any, TypeVar, cast

from irbench.cold_row import ColdRow, ColdTable
from irbench.counter_row import CounterFigure, CounterTable
from irbench.result import GroupResult, RunDocument
from irbench.row import CellResult
from irbench.row_figures import Spans, Speedup, WithEnds

_Figure = TypeVar("_Figure", bound=WithEnds)
_Whole = TypeVar("_Whole")
_Part = TypeVar("_Part")


def with_ranges(document: RunDocument) -> RunDocument:
    """Return a document in which no range stands for an interval; one that this irbench wrote stays as it is."""
    timing = document.plan.get("timing")
    fewest = timing.get("min_launches") if isinstance(timing, dict) else None
    fewest = fewest if isinstance(fewest, int) else 0
    return _with(
        document,
        groups=_each(document.groups, lambda table: _table(table, fewest)),
        cold_starts=_each(document.cold_starts, _cold_table),
        counters=_each(document.counters, _counter_table),
    )


def _table(table: GroupResult, fewest: int) -> GroupResult:
    lead = table.lead
    if lead is not None and _is_preview(table, lead.launches, fewest):
        lead = _as_range(lead, lead.launches)
    return _with(table, lead=lead, cells=_each(table.cells, lambda row: _row(row, table, fewest)))


def _is_preview(table: GroupResult, launches: int | None, fewest: int) -> bool:
    """Whether so many launches are too few for an interval; a plan that does not say how many are needed is older."""
    return launches < fewest if fewest and launches is not None else table.preview


def _row(row: CellResult, table: GroupResult, fewest: int) -> CellResult:
    changed: dict[str, Any] = {}
    if row.speedup is not None:
        changed["speedup"] = _speedup(row.speedup)
    if _is_preview(table, row.launches_measured, fewest):
        changed |= {name: _as_range(spans, row.launches_measured) for name, spans in _spans(row)}
    return _with(row, **changed)


def _spans(row: CellResult) -> Iterator[tuple[str, Spans]]:
    values = ((field.name, getattr(row, field.name)) for field in fields(row))
    yield from ((name, value) for name, value in values if isinstance(value, Spans))


def _speedup(speedup: Speedup) -> Speedup:
    return _with_confidence(_as_range(speedup, speedup.launches) if speedup.verdict == "preview" else speedup)


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
    return _with(table, rows=_each(table.rows, _cold_row))


def _cold_row(row: ColdRow) -> ColdRow:
    changed: dict[str, Any] = {}
    if row.speedup is not None:
        changed["speedup"] = _speedup(row.speedup)
    if row.ready_ms is not None and row.ready_confidence is None:
        changed["ready_ms"] = _as_range(row.ready_ms, len(row.launches))
    return _with(row, **changed)


def _counter_table(table: CounterTable) -> CounterTable:
    return _with(table, rows=_each(table.rows, lambda row: _with(row, figures=_each(row.figures, _counter_figure))))


def _counter_figure(figure: CounterFigure) -> CounterFigure:
    return figure if figure.confidence is not None else _as_range(figure, figure.launches)


def _each(parts: tuple[_Part, ...], changed: Callable[[_Part], _Part]) -> tuple[_Part, ...]:
    """Return what becomes of each part; the very same tuple where nothing changes, as in most documents."""
    found = tuple(map(changed, parts))
    return parts if all(map(is_, parts, found)) else found


def _with(whole: _Whole, **parts: Any) -> _Whole:
    """Return a dataclass with other parts; itself where they are what it has."""
    if all(part is getattr(whole, name) for name, part in parts.items()):
        return whole
    changed: Any = whole
    return cast("_Whole", replace(changed, **parts))
