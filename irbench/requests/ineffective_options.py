"""Options of a run that have no effect: refused, or reported if they affect some rows only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import LayoutUnchanged, OptimizeNotApplied
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import TensorSpec, Workload


def refuse_ineffective_levels(backends: Sequence[BackendAddress], variants: Sequence[str]) -> None:
    """Refuse levels of optimisation where no backend reads the graphs that they change.

    Raises:
        IrbenchError: That is so.
    """
    names = dict.fromkeys(name for name, _ in backends)
    if _optimizes(variants) and not any(_reads_onnx(name) for name in names):
        raise IrbenchError(
            f"--optimize applies to ONNX graphs, and none of the backends reads ONNX: {', '.join(names)}.",
            hint="Leave --optimize out, or add a backend that reads ONNX, for example ort.",
        )


def ineffective_levels(request: RunRequest, groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each backend that measures a graph which ``--optimize`` does not change."""
    cells = [cell for group in groups for cell in group.measured if cell.program is None]
    kinds = {cell.backend: cell.artifact.kind for cell in cells if cell.artifact is not None}
    for name, kind in kinds.items():
        if _optimizes(request.variants) and not _reads_onnx(name):
            yield OptimizeNotApplied(backend=name, artifact=kind)


def ineffective_layouts(groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each graph that was to take its images as NCHW and takes them as it did."""
    cells = [(cell, group.group.workload_of(cell)) for group in groups for cell in group.measured]
    kept = dict.fromkeys(
        (workload.bundle.name, cell.artifact.variant)
        for cell, workload in cells
        if cell.artifact is not None and cell.artifact.inputs == _exported_inputs(workload)
    )
    for model, name in kept:
        if name and variant(name).layout == "nchw":
            yield LayoutUnchanged(model=model, variant=name)


def _exported_inputs(workload: Workload) -> tuple[TensorSpec, ...]:
    exported = workload.bundle.artifact(("onnx",))
    return () if exported is None else tuple(spec.bind(workload.sizes) for spec in exported.inputs)


def _optimizes(variants: Sequence[str]) -> bool:
    return any(name != UNOPTIMIZED for name in variants)


def _reads_onnx(backend: str) -> bool:
    return "onnx" in registry.backend(backend).consumes
