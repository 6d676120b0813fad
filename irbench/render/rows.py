"""The rows of a table: its columns, and the text of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from irbench.render.figures import (
    NOT_MEASURED,
    error_size,
    gigabytes,
    percent,
    seconds,
    significant,
    speedup_cell,
)
from irbench.render.footer import reason
from irbench.render.table import Column, Row, TextTable
from irbench.result import CellResult, GroupResult, Spans, row_names

__all__ = ["COLUMNS", "group_table"]

_VERDICT_STYLES = {"faster": "green", "slower": "red", "undecided": "yellow", "preview": "dim"}
_STATE_STYLES = {"mismatch": "red", "failed": "red", "not-applicable": "dim", "interrupted": "dim"}
_SUSTAINED_MATTERS = 0.03
"""From this share on, the sustained FPS are shown beside those of the interleaved rounds."""

_BACKEND, _PRECISION = Column("backend", words=True), Column("prec", words=True)
_P50, _SPREAD, _P90 = Column("p50 ms"), Column("spread", drops=2), Column("p90 ms", drops=3)
_NEW_SHAPE = Column("new shape ms")
_P99, _P99_9 = Column("p99 ms"), Column("p99.9 ms", drops=4)
_FPS, _SUSTAINED = Column("FPS", drops=1), Column("sustained", drops=5)
_VERDICT = Column("verdict", words=True)
_LAUNCHES = Column("launches", drops=2)
_MAX_ERROR, _READY, _MEMORY = Column("max err", drops=6), Column("ready s", drops=7), Column("GB", drops=8)

COLUMNS = (
    *(_BACKEND, _PRECISION, _P50, _SPREAD, _P90, _P99, _P99_9, _NEW_SHAPE, _FPS, _SUSTAINED),
    *(_VERDICT, _LAUNCHES, _MAX_ERROR, _READY, _MEMORY),
)
"""Every column in the order of the table, but that of speedups, whose heading says what its intervals are."""


def group_table(result: GroupResult, confidence: float = 0.95, *, intervals: bool = False) -> TextTable:
    """Return the group's rows in their order, as text.

    Args:
        result: The group.
        confidence: Of the intervals, for the heading.
        intervals: Whether latencies and FPS are shown with theirs.
    """
    columns = _columns(result, confidence)
    rows = (_row(cell, result, columns) for cell in result.cells)
    if not intervals:
        return TextTable(columns, tuple(rows))
    spans = [_spans(cell) for cell in result.cells]
    return TextTable(columns, tuple(_with_spans(row, columns, own) for row, own in zip(rows, spans, strict=True)))


def _spans(cell: CellResult) -> dict[Column, Spans | None]:
    return {
        _P50: cell.p50_over_launches,
        _P90: cell.p90_over_launches,
        _NEW_SHAPE: cell.new_shape_over_launches,
        _FPS: cell.fps_over_launches,
        _SUSTAINED: cell.sustained_over_launches,
    }


def _with_spans(row: Row, columns: Sequence[Column], spans: Mapping[Column, Spans | None]) -> Row:
    """Return a row with medians over launches and their intervals, where a figure has one."""
    shown = [spans.get(column) for column in columns[: len(row.cells)]]
    cells = (
        text if span is None else f"{significant(span.value)} [{significant(span.low)}, {significant(span.high)}]"
        for text, span in zip(row.cells, shown, strict=True)
    )
    return replace(row, cells=tuple(cells))


def _columns(result: GroupResult, confidence: float) -> tuple[Column, ...]:
    latencies = [cell.latency_ms for cell in result.cells if cell.latency_ms is not None]
    has_tail = any(latency.p99 is not None or latency.p99_9 is not None for latency in latencies)
    compares = len(result.cells) > 1
    conditions = {
        _P99: has_tail,
        _P99_9: has_tail,
        _NEW_SHAPE: any(cell.new_shape_ms is not None for cell in result.cells),
        _SUSTAINED: any(_slows_down(cell) for cell in result.cells),
        _VERDICT: compares or any(cell.state != "ok" for cell in result.cells),
        _LAUNCHES: len({cell.launches_measured for cell in result.cells} - {None}) > 1,
    }
    columns = [column for column in COLUMNS if conditions.get(column, True)]
    if compares:
        span = "range" if result.preview else f"{confidence * 100:g} %"
        columns.insert(columns.index(_VERDICT), Column(f"speedup [{span}]", words=True))
    return tuple(columns)


def _row(cell: CellResult, result: GroupResult, columns: Sequence[Column]) -> Row:
    marker = " *" if cell.marks else ""
    cells = (
        _name(cell, result) + marker,
        str(cell.effective.get("precision") or NOT_MEASURED),
        *_figures(cell, result, columns),
    )
    verdict = columns.index(_VERDICT) if _VERDICT in columns else len(columns)
    if cell.latency_ms is None and cell.state != "ok":
        return Row(cells[:verdict], reason(cell), _STATE_STYLES[cell.state])
    return Row(cells, style=_style(cell))


def _name(cell: CellResult, result: GroupResult) -> str:
    """Return the row's label; with the precision asked for where the column of precisions tells two rows no apart.

    A row that failed has nothing in that column.
    """
    told = cell.effective.get("precision") is not None
    alike = [row for row in result.cells if (_shown_as(row) == _shown_as(cell) if told else row.label == cell.label)]
    return cell.label if len(alike) == 1 else row_names(result.cells)[cell.id]


def _shown_as(cell: CellResult) -> tuple[str, object]:
    return cell.label, cell.effective.get("precision")


def _figures(cell: CellResult, result: GroupResult, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the text of every column but the first two."""
    latency, spread = cell.latency_ms, cell.launch_spread
    is_baseline = cell.id == result.baseline
    known = {
        _P50: significant(latency.p50 if latency else None, spread),
        _SPREAD: percent(spread),
        _P90: significant(latency.p90 if latency else None, spread),
        _P99: significant(latency.p99 if latency else None),
        _P99_9: significant(latency.p99_9 if latency else None),
        _FPS: significant(cell.fps, spread),
        _NEW_SHAPE: significant(cell.new_shape_ms),
        _SUSTAINED: significant(cell.sustained_fps, spread),
        _VERDICT: _verdict(cell),
        _LAUNCHES: NOT_MEASURED if cell.launches_measured is None else str(cell.launches_measured),
        _MAX_ERROR: error_size(cell.output_error.max_rel if cell.output_error else None),
        _READY: seconds(cell.phases_ms.ready if cell.phases_ms else None),
        _MEMORY: gigabytes((cell.peak_memory_bytes or {}).get("process")),
    }
    speedup = speedup_cell(cell.speedup, is_baseline=is_baseline)
    return tuple(known.get(column, speedup) for column in columns[2:])


def _slows_down(cell: CellResult) -> bool:
    if cell.sustained_fps is None or not cell.fps:
        return False
    return abs(cell.sustained_fps / cell.fps - 1) > _SUSTAINED_MATTERS


def _verdict(cell: CellResult) -> str:
    if cell.state != "ok":
        return cell.state.replace("-", " ")
    return NOT_MEASURED if cell.speedup is None else cell.speedup.verdict


def _style(cell: CellResult) -> str:
    if cell.state != "ok":
        return _STATE_STYLES[cell.state]
    return _VERDICT_STYLES.get(cell.speedup.verdict, "") if cell.speedup is not None else ""
