"""Whether a plan is about the graphs that a stored run measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from irbench.errors import IrbenchError
from irbench.result import RunDocument
from irbench.runner.plan import PlannedGroup
from irbench.spec import GraphFiles

__all__ = ["ModelChanged", "graphs_of", "requires_graphs"]

Graphs = Mapping[tuple[str, str], GraphFiles]
"""By the name of the model and what the document calls the graph: ``onnx``, ``onnx+basic-int8``."""


class ModelChanged(IrbenchError):
    """A model is not what it was when it was measured.

    Attributes:
        models: Names of those.
    """

    def __init__(self, models: Iterable[str]) -> None:
        self.models = tuple(models)
        super().__init__(
            f"{', '.join(self.models)}: not the graph that was measured.",
            hint="Put the files back that were measured, or measure both anew.",
        )


def graphs_of(documents: Iterable[RunDocument]) -> Graphs:
    """Return the graphs that runs measured, as far as their documents say it; the newest of a name."""
    return {
        (row.model or table.model, row.artifact): row.graph_files
        for document in documents
        for table in document.groups
        for row in table.cells
        if row.graph_files is not None
    }


def requires_graphs(known: Graphs) -> Callable[[Sequence[PlannedGroup]], None]:
    """Return what raises :class:`ModelChanged` where a plan has another graph under a name that is known."""

    def require(groups: Sequence[PlannedGroup]) -> None:
        planned = {
            (planned.group.workload_of(cell).bundle.name, cell.artifact.label): cell.artifact.files
            for planned in groups
            for cell in planned.measured
            if cell.artifact is not None
        }
        changed = dict.fromkeys(name[0] for name, files in planned.items() if files != known.get(name, files))
        if changed:
            raise ModelChanged(changed)

    return require
