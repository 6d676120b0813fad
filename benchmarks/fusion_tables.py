"""What fusing gains, as tables: every graph that was measured, and how near the best comes to one by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.fusion_figures import Comparison, Graph, Share
from irbench.render import Column, Row, TextTable
from irbench.result import Speedup

__all__ = ["graph_table", "share_table"]

_GOAL = 0.9


def graph_table(comparisons: Sequence[Comparison]) -> TextTable:
    """Return a row for each graph."""
    columns = (
        *(Column("model", words=True), Column("backend", words=True), Column("level", words=True)),
        *(Column("nodes"), Column("p50 ms"), Column("speedup [95 %]"), Column("verdict", words=True)),
        *(Column("max err"), Column("remark", words=True)),
    )
    return TextTable(columns, tuple(row for one in comparisons for row in _graph_rows(one)))


def share_table(comparisons: Sequence[Comparison]) -> TextTable:
    """Return a row for each model and backend."""
    columns = (
        *(Column("model", words=True), Column("backend", words=True), Column("best level", words=True)),
        *(Column("speedup"), Column("by hand", words=True), Column("speedup")),
        *(Column("share of its gain [95 %]"), Column("nine tenths", words=True)),
    )
    return TextTable(columns, tuple(_share_row(one) for one in comparisons))


def _graph_rows(comparison: Comparison) -> Iterator[Row]:
    start = (comparison.model, comparison.backend)
    if comparison.failure:
        yield Row(start, sentence=f"not measured: {comparison.failure}")
    for graph in comparison.graphs:
        cells = (*start, graph.level, "-" if graph.nodes is None else str(graph.nodes))
        failure = graph.row.failure
        yield Row(cells, sentence=failure.message) if failure is not None else Row((*cells, *_figures(graph)))


def _figures(graph: Graph) -> tuple[str, ...]:
    latency, error, speedup = graph.row.latency_ms, graph.row.output_error, graph.speedup
    return (
        f"{latency.p50:.3g}" if latency is not None else "-",
        _interval(speedup) if speedup is not None else "1 baseline",
        speedup.verdict if speedup is not None else "-",
        f"{error.max_rel:.0e}" if error is not None else "-",
        "harms" if graph.harms else "",
    )


def _share_row(comparison: Comparison) -> Row:
    start = (comparison.model, comparison.backend)
    best, ceiling = comparison.best, comparison.ceiling
    if best is None or ceiling is None or best.speedup is None or ceiling.speedup is None:
        return Row(start, sentence=f"not measured{comparison.failure and f': {comparison.failure}'}")
    cells = (*start, best.level, f"{best.speedup.value:.2f}", ceiling.level, f"{ceiling.speedup.value:.2f}")
    if comparison.share is None:
        return Row((*cells, "no gain to reach", "-"))
    share = comparison.share
    shown = f"{share.value:.2f} [{share.low:.2f}, {share.high:.2f}]"
    return Row((*cells, shown, "preview" if comparison.preview else _judge(share)))


def _judge(share: Share) -> str:
    if share.low >= _GOAL:
        return "reached"
    return "MISSED" if share.high < _GOAL else "undecided"


def _interval(speedup: Speedup) -> str:
    return f"{speedup.value:.2f} [{speedup.low:.2f}, {speedup.high:.2f}]"
