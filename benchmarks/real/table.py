"""The table of the trained models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.real.tour import INT8, UNOPTIMIZED, Tour
from irbench.core.quantities import NOT_MEASURED, error_size, significant
from irbench.core.row import CellResult
from irbench.render.figure_texts import speedup_cell
from irbench.render.table import Row, TableColumn, TextTable
from irbench.stats.intervals import Interval

_JUDGE = "ort, unoptimised"
"""What answers for a converted graph, so that no runtime's own choices are part of the figure."""


def as_table(tours: Sequence[Tour]) -> TextTable:
    """Return a row for each model, backend and graph, and one for each failure.

    Latencies are p50; speedups are over the first backend with the graph as it came; ``max err`` is the largest
    relative error on real inputs, and ``error`` and ``decisions kept`` tell what int8 changes on them.
    """
    columns = (
        *(TableColumn("model", words=True), TableColumn("backend", words=True), TableColumn("graph", words=True)),
        *(
            TableColumn("p50 ms"),
            TableColumn(f"speedup [{_span(tours)}]"),
            TableColumn("verdict", words=True),
            TableColumn("max err"),
        ),
        *(
            TableColumn("int8 error % [95 %]"),
            TableColumn("decisions kept % [95 %]"),
            TableColumn("remark", words=True, folds=True),
        ),
    )
    return TextTable(columns, tuple(row for tour in tours for row in _rows(tour)))


def _rows(tour: Tour) -> Iterator[Row]:
    for problem in tour.problems:
        yield Row((tour.name,), sentence=f"{problem.step}: {problem.reason}")
    for found in tour.verified:
        if found.failure:
            yield Row((tour.name, found.backend, found.graph), sentence=f"verify on real inputs: {found.failure}")
    if tour.int8 is not None:
        changed = (_percent(tour.int8.error), _percent(tour.int8.decisions_kept))
        yield Row((tour.name, _JUDGE, INT8, *(NOT_MEASURED,) * 4, *changed, f"{tour.int8.samples} real inputs"))
    for group in tour.measured:
        for cell in group.cells:
            start = (tour.name, cell.backend, _graph(cell))
            if cell.failure is not None:
                yield Row(start, sentence=cell.failure.message)
            else:
                yield Row((*start, *_figures(tour, cell, is_baseline=cell.id == group.baseline)))


def _figures(tour: Tour, cell: CellResult, *, is_baseline: bool) -> tuple[str, ...]:
    latency, speedup = cell.latency_ms, cell.speedup
    real = [v.max_rel for v in tour.verified if (v.graph, v.backend) == (_graph(cell), cell.backend)]
    return (
        significant(None if latency is None else latency.p50, cell.launch_spread),
        speedup_cell(speedup, is_baseline=is_baseline),
        NOT_MEASURED if speedup is None else speedup.verdict,
        error_size(real[0] if real else None),
        *(NOT_MEASURED, NOT_MEASURED),
        "" if cell.state == "ok" else cell.state,
    )


def _percent(interval: Interval) -> str:
    value, low, high = (f"{100 * figure:.3g}" for figure in (interval.value, interval.low, interval.high))
    return f"{value} [{low}, {high}]"


def _graph(cell: CellResult) -> str:
    return cell.artifact.partition("+")[2] or UNOPTIMIZED


def _span(tours: Sequence[Tour]) -> str:
    return "range" if any(group.preview for tour in tours for group in tour.measured) else "95 %"
