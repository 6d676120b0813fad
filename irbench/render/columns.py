"""The columns of a group's table: each with its heading, its text, and the tables that have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irbench.quantities import NOT_MEASURED, error_size, gigabytes, significant
from irbench.quantities import percent as share
from irbench.render.accuracy import accuracy_text
from irbench.render.energy import above_idle_text, energy_text, power_text
from irbench.render.figures import percent, seconds
from irbench.render.table import Column
from irbench.result import GroupResult
from irbench.row import CellResult
from irbench.row_figures import Spans

_SUSTAINED_MATTERS = 0.03
"""From this share on, the sustained FPS are shown beside those of the interleaved rounds."""


def _no_interval(_cell: CellResult) -> None: ...


def _always(_result: GroupResult) -> bool:
    return True


@dataclass(frozen=True)
class Figure:
    """One column.

    Attributes:
        column: How it is shown.
        text: What it shows of a row.
        spans: The figure over launches with its interval, where it has one.
        is_shown: Whether a group's table has the column.
    """

    column: Column
    text: Callable[[CellResult], str]
    spans: Callable[[CellResult], Spans | None] = _no_interval
    is_shown: Callable[[GroupResult], bool] = _always


def _has_tail(result: GroupResult) -> bool:
    latencies = (cell.latency_ms for cell in result.cells if cell.latency_ms is not None)
    return any(latency.p99 is not None or latency.p99_9 is not None for latency in latencies)


def _is_paced(result: GroupResult) -> bool:
    return any(cell.paced_ms is not None for cell in result.cells)


def _has_energy(result: GroupResult) -> bool:
    return any(cell.energy is not None for cell in result.cells)


def _slows_down(cell: CellResult) -> bool:
    if cell.sustained_fps is None or not cell.fps:
        return False
    return abs(cell.sustained_fps / cell.fps - 1) > _SUSTAINED_MATTERS


def _has_work(result: GroupResult) -> bool:
    return any(cell.work is not None for cell in result.cells)


def _roof_share(cell: CellResult) -> str:
    return NOT_MEASURED if cell.roof_share is None else share(cell.roof_share, 0)


def _differs(fact: Callable[[CellResult], object]) -> Callable[[GroupResult], bool]:
    """Return what says whether rows of a table differ in a fact."""
    return lambda result: len({fact(cell) for cell in result.cells}) > 1


def _model(cell: CellResult) -> object:
    return cell.model


def _batch(cell: CellResult) -> object:
    return cell.batch


def _asked_threads(cell: CellResult) -> object:
    return cell.requested.threads


def _threads(cell: CellResult) -> str:
    return str(cell.effective.get("threads") or cell.requested.threads or "native")


def _verdict(cell: CellResult) -> str:
    if cell.state != "ok":
        return cell.state.replace("-", " ")
    return NOT_MEASURED if cell.speedup is None else cell.speedup.verdict


BACKEND = Column("backend", words=True)
PRECISION = Column("prec", words=True)
VERDICT = Column("verdict", words=True)

FIGURES = (
    Figure(Column("model", words=True), lambda cell: cell.model or NOT_MEASURED, is_shown=_differs(_model)),
    Figure(Column("batch"), lambda cell: str(cell.batch), is_shown=_differs(_batch)),
    Figure(Column("threads"), _threads, is_shown=_differs(_asked_threads)),
    Figure(
        Column("p50 ms"),
        lambda cell: significant(cell.latency_ms.p50 if cell.latency_ms else None, cell.launch_spread),
        spans=lambda cell: cell.p50_over_launches,
    ),
    Figure(Column("spread", drops=2), lambda cell: percent(cell.launch_spread)),
    Figure(
        Column("p90 ms", drops=3),
        lambda cell: significant(cell.latency_ms.p90 if cell.latency_ms else None, cell.launch_spread),
        spans=lambda cell: cell.p90_over_launches,
    ),
    Figure(
        Column("p99 ms"),
        lambda cell: significant(cell.latency_ms.p99 if cell.latency_ms else None),
        is_shown=_has_tail,
    ),
    Figure(
        Column("p99.9 ms", drops=4),
        lambda cell: significant(cell.latency_ms.p99_9 if cell.latency_ms else None),
        is_shown=_has_tail,
    ),
    Figure(
        Column("paced p50 ms", drops=1),
        lambda cell: significant(cell.paced_ms.p50 if cell.paced_ms else None),
        spans=lambda cell: cell.paced_p50_over_launches,
        is_shown=_is_paced,
    ),
    Figure(
        Column("paced p90 ms", drops=4),
        lambda cell: significant(cell.paced_ms.p90 if cell.paced_ms else None),
        spans=lambda cell: cell.paced_p90_over_launches,
        is_shown=_is_paced,
    ),
    Figure(
        Column("new shape ms"),
        lambda cell: significant(cell.new_shape_ms),
        spans=lambda cell: cell.new_shape_over_launches,
        is_shown=lambda result: any(cell.new_shape_ms is not None for cell in result.cells),
    ),
    Figure(
        Column("FPS", drops=1),
        lambda cell: significant(cell.fps, cell.launch_spread),
        spans=lambda cell: cell.fps_over_launches,
    ),
    Figure(
        Column("sustained", drops=5),
        lambda cell: significant(cell.sustained_fps, cell.launch_spread),
        spans=lambda cell: cell.sustained_over_launches,
        is_shown=lambda result: any(_slows_down(cell) for cell in result.cells),
    ),
    Figure(Column("J/inference"), energy_text, spans=lambda cell: cell.energy_over_launches, is_shown=_has_energy),
    Figure(
        Column("above idle", drops=4),
        above_idle_text,
        spans=lambda cell: cell.energy_above_idle_over_launches,
        is_shown=_has_energy,
    ),
    Figure(Column("W", drops=4), power_text, is_shown=_has_energy),
    Figure(
        Column("GFLOP/s", drops=4), lambda cell: significant(cell.gflop_per_s, cell.launch_spread), is_shown=_has_work
    ),
    Figure(Column("of roof", drops=4), _roof_share, is_shown=_has_work),
    Figure(
        VERDICT,
        _verdict,
        is_shown=lambda result: len(result.cells) > 1 or any(cell.state != "ok" for cell in result.cells),
    ),
    Figure(
        Column("launches", drops=2),
        lambda cell: NOT_MEASURED if cell.launches_measured is None else str(cell.launches_measured),
        is_shown=lambda result: len({cell.launches_measured for cell in result.cells} - {None}) > 1,
    ),
    Figure(
        Column("accuracy"),
        lambda cell: NOT_MEASURED if cell.accuracy is None else accuracy_text(cell.accuracy.value, cell.accuracy.limit),
        is_shown=lambda result: any(cell.accuracy is not None for cell in result.cells),
    ),
    Figure(
        Column("max err", drops=6), lambda cell: error_size(cell.output_error.max_rel if cell.output_error else None)
    ),
    Figure(Column("ready s", drops=7), lambda cell: seconds(cell.phases_ms.ready if cell.phases_ms else None)),
    Figure(Column("GB", drops=8), lambda cell: gigabytes((cell.peak_memory_bytes or {}).get("process"))),
)
"""From left to right, after the row's name and precision. Speedups, whose heading depends on the group, precede the
verdict."""

COLUMNS = (BACKEND, PRECISION, *(figure.column for figure in FIGURES))
"""Every column in the order of the table, but that of speedups, whose heading says what its intervals are."""
