"""What fusing gains, as tables: every graph that was measured, and how near the best comes to one by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.fusion_figures import Comparison, Graph, Share
from irbench.core.quantities import NOT_MEASURED, error_size, significant
from irbench.optimizer import UNOPTIMIZED
from irbench.render.figure_texts import speedup_cell
from irbench.render.table import Row, TableColumn, TextTable

_GOAL = 0.9
_LARGEST_SHARE = 10
"""Beyond it a figure says no more than that the gain by hand is too small to divide by."""


def graph_table(comparisons: Sequence[Comparison]) -> TextTable:
    """Return a row for each graph."""
    columns = (
        *(TableColumn("model", words=True), TableColumn("backend", words=True), TableColumn("level", words=True)),
        *(
            TableColumn("nodes"),
            TableColumn("p50 ms"),
            TableColumn(f"speedup [{_span(comparisons)}]"),
            TableColumn("verdict", words=True),
        ),
        *(TableColumn("max err"), TableColumn("remark", words=True)),
    )
    return TextTable(columns, tuple(row for comparison in comparisons for row in _graph_rows(comparison)))


def share_table(comparisons: Sequence[Comparison]) -> TextTable:
    """Return a row for each model and backend."""
    columns = (
        *(TableColumn("model", words=True), TableColumn("backend", words=True), TableColumn("best level", words=True)),
        *(TableColumn("speedup"), TableColumn("by hand", words=True), TableColumn("speedup")),
        *(
            TableColumn(f"share of its gain [{_span(comparisons)}]"),
            TableColumn("nine tenths", words=True),
            TableColumn("launches"),
        ),
    )
    return TextTable(columns, tuple(_share_row(comparison) for comparison in comparisons))


def slower_levels(comparisons: Sequence[Comparison]) -> str:
    """Return a sentence that names every level which is slower than the graph as exported, beyond doubt."""
    found = [
        f"{comparison.model} at {graph.level} on {comparison.backend}"
        f" ({speedup_cell(graph.speedup, is_baseline=False)})"
        for comparison in comparisons
        for graph in comparison.graphs
        if graph.is_slower
    ]
    if found:
        return f"Slower than {UNOPTIMIZED}: {'; '.join(found)}."
    return f"No level is slower than {UNOPTIMIZED}, as far as the intervals tell."


def _graph_rows(comparison: Comparison) -> Iterator[Row]:
    start = (comparison.model, comparison.backend)
    if comparison.failure:
        yield Row(start, sentence=f"not measured: {comparison.failure}")
    for graph in comparison.graphs:
        cells = (*start, graph.level, NOT_MEASURED if graph.nodes is None else str(graph.nodes))
        failure = graph.row.failure
        yield Row(cells, sentence=failure.message) if failure is not None else Row((*cells, *_figures(graph)))


def _figures(graph: Graph) -> tuple[str, ...]:
    latency, error, speedup = graph.row.latency_ms, graph.row.output_error, graph.speedup
    return (
        significant(None if latency is None else latency.p50, graph.row.launch_spread),
        speedup_cell(speedup, is_baseline=graph.is_baseline),
        NOT_MEASURED if speedup is None else speedup.verdict,
        error_size(None if error is None else error.max_rel),
        f"slower than {UNOPTIMIZED}" if graph.is_slower else "",
    )


def _share_row(comparison: Comparison) -> Row:
    start = (comparison.model, comparison.backend)
    best, ceiling = comparison.best, comparison.ceiling
    if best is None or ceiling is None or best.speedup is None or ceiling.speedup is None:
        return Row(start, sentence=f"not measured{comparison.failure and f': {comparison.failure}'}")
    cells = (*start, best.level, f"{best.speedup.value:.2f}", ceiling.level, f"{ceiling.speedup.value:.2f}")
    if comparison.share is None:
        return Row((*cells, "no gain to reach", NOT_MEASURED, str(comparison.launches)))
    judged = "preview" if comparison.preview else _judge(comparison.share)
    return Row((*cells, _shown(comparison.share), judged, str(comparison.launches)))


def _judge(share: Share) -> str:
    if share.low >= _GOAL:
        return "reached"
    return "MISSED" if share.high < _GOAL else "undecided"


def _shown(share: Share) -> str:
    value, low, high = map(_bounded, (share.value, share.low, share.high))
    return value if share.low == share.high else f"{value} [{low}, {high}]"


def _bounded(share: float) -> str:
    if abs(share) <= _LARGEST_SHARE:
        return f"{share:.2f}"
    return f"> {_LARGEST_SHARE}" if share > 0 else f"< -{_LARGEST_SHARE}"


def _span(comparisons: Sequence[Comparison]) -> str:
    return "range" if any(comparison.preview for comparison in comparisons) else "95 %"
