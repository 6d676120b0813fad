"""Whether a plan is about the graphs that a stored run measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irbench.across_runs.measured_cells import MeasuredGraph, is_another_graph
from irbench.errors import IrbenchError
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runs.measurement import RowFilter


class ModelChanged(IrbenchError):
    """A model is not what it was when it was measured."""

    def __init__(self, models: Iterable[str]) -> None:
        self.models = tuple(models)
        super().__init__(
            f"{', '.join(self.models)}: not the graph that was measured.",
            hint="Put the files back that were measured, or measure both again.",
        )


def requires_graphs(known: Sequence[MeasuredGraph], *, any_name: bool = False) -> RowFilter:
    """Return what keeps every row, and raises :class:`ModelChanged` where a plan has a graph that is not known.

    Args:
        known: Graphs that were measured.
        any_name: Whether models may be called something else than when they were measured.
    """

    def require(_request: RunRequest, groups: tuple[PlannedGroup, ...]) -> tuple[PlannedGroup, ...]:
        changed = dict.fromkeys(_changed(groups))
        if changed:
            raise ModelChanged(changed)
        return groups

    def _changed(groups: Sequence[PlannedGroup]) -> Iterable[str]:
        for planned in groups:
            for cell in planned.measured:
                model, artifact = planned.group.workload_of(cell).bundle.name, cell.artifact
                of_model = [graph for graph in known if any_name or graph.model == model]
                if artifact and is_another_graph(of_model, artifact.label, cell.load.batch, artifact.files):
                    yield model

    return require
