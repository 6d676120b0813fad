"""Options of a run that have no effect: refused, or reported if they affect some rows only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irbench import registry
from irbench.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest

__all__ = ["ineffective_layouts", "ineffective_levels", "refuse_ineffective_levels"]


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
            yield Note("optimize-not-applied", {"backend": name, "artifact": kind})


def ineffective_layouts(groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each graph that was to take its images as NCHW and takes them as it did."""
    found: dict[tuple[str, str], None] = {}
    for group in groups:
        exported = group.group.main.bundle.artifact(("onnx",))
        before = tuple(spec.bind(group.group.main.sizes) for spec in exported.inputs) if exported is not None else ()
        made = [cell.artifact for cell in group.measured if cell.artifact is not None]
        names = dict.fromkeys(graph.variant for graph in made if graph.variant and graph.inputs == before)
        for name in names:
            if variant(name).layout == "nchw":
                found[group.group.main.bundle.name, name] = None
    yield from (Note("layout-unchanged", {"model": model, "variant": name}) for model, name in found)


def _optimizes(variants: Sequence[str]) -> bool:
    return any(name != UNOPTIMIZED for name in variants)


def _reads_onnx(backend: str) -> bool:
    return "onnx" in registry.backend(backend).consumes
