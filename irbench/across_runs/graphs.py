"""The graphs that a run measured, and whether a graph is one of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from irbench.result import RunDocument
from irbench.spec import GraphFiles


@dataclass(frozen=True)
class MeasuredGraph:
    """A graph that was measured.

    Attributes:
        artifact: What documents call the graph: ``onnx``, ``onnx+basic-int8``.
        batch: Samples per inference: an optimised graph is another one at each.
    """

    model: str
    artifact: str
    batch: int
    files: GraphFiles


def measured_graphs(document: RunDocument) -> tuple[MeasuredGraph, ...]:
    """Return the graphs that a run measured, as far as its document says it, each once."""
    rows = ((row.model or table.model, row) for table in document.groups for row in table.cells)
    found = (
        MeasuredGraph(model, row.artifact, row.batch, row.graph_files)
        for model, row in rows
        if row.graph_files is not None
    )
    return tuple(dict.fromkeys(found))


def is_another_graph(known: Collection[MeasuredGraph], artifact: str, batch: int, files: GraphFiles | None) -> bool:
    """Return whether none of these graphs is the one that would be measured; a kind none of them is of may be new."""
    alike = [graph for graph in known if graph.artifact == artifact]
    return bool(alike) and all((graph.batch, graph.files) != (batch, files) for graph in alike)
