"""Levels of optimisation of a run: refused where they change nothing, fitted to its backends, and noted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import GraphPartlyUnchecked, Int8StaticChosen, LayoutUnchanged, OptimizeNotApplied
from irbench.optimizer import UNOPTIMIZED, Lineage, calibration_note, read_lineage, variant
from irbench.runner.own_rows import may_read_model
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import TensorSpec, Workload


def refuse_ineffective_levels(backends: Sequence[BackendAddress], variants: Sequence[str]) -> None:
    """Refuse levels of optimisation where no backend reads the graphs that they change."""
    names = dict.fromkeys(name for name, _ in backends)
    if _optimizes(variants) and not any(_reads_onnx(name) for name in names):
        raise IrbenchError(
            f"`--optimize` applies to ONNX graphs, and none of the backends reads ONNX: {', '.join(names)}.",
            hint="Leave `--optimize` out, or add a backend that reads ONNX, for example ort.",
        )


def ineffective_levels(request: RunRequest, groups: Sequence[PlannedGroup]) -> Iterator[Note]:
    """Yield a note for each backend, and for own code, that runs something which ``--optimize`` does not change."""
    cells = [cell for group in groups for cell in group.measured if cell.program is None]
    kinds = {cell.backend: cell.artifact.kind for cell in cells if cell.artifact is not None}
    for name, kind in kinds.items():
        if _optimizes(request.variants) and not _reads_onnx(name):
            yield OptimizeNotApplied(backend=name, artifact=kind)
    for name, program in request.asked.cells.items():
        if _optimizes(request.variants) and not may_read_model(program):
            yield OptimizeNotApplied(backend=name, artifact="own-code")


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


_STATIC = "static"


def with_suitable_int8(
    variants: Sequence[str], backends: Iterable[BackendAddress]
) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return the levels of optimisation with static int8 where a backend computes no other, and a note that says so.

    A method that was named stays. Rows can be compared only if all backends run the same graph.
    """
    limited = [name for name in dict.fromkeys(name for name, _ in backends) if not _takes_any(name)]
    chosen = {name: f"{name}-{_STATIC}" for name in variants if limited and _leaves_the_method_open(name)}
    notes = (Int8StaticChosen(backend=limited[0], asked=level, chosen=static) for level, static in chosen.items())
    return tuple(dict.fromkeys(chosen.get(name, name) for name in variants)), tuple(notes)


def _takes_any(backend: str) -> bool:
    """Whether a backend computes a graph in integers however it was quantised; one that reads no ONNX has no say."""
    if "onnx" not in registry.backend(backend).consumes:
        return True
    return "dynamic" in registry.describe(registry.BACKENDS, backend).int8_methods


def _leaves_the_method_open(name: str) -> bool:
    conversion = None if name == UNOPTIMIZED else variant(name).conversion
    return conversion is not None and conversion.precision == "int8" and conversion.method == "auto"


def graph_notes(groups: Sequence[PlannedGroup]) -> tuple[Note, ...]:
    """Return a note for each graph of which a part was not compared, then for each that generated data calibrated."""
    graphs = list(_optimized_graphs(groups))
    unchecked = (
        GraphPartlyUnchecked(model=model, variant=name, parts=len(lineage.checked.unchecked))
        for model, name, lineage in graphs
        if lineage.checked is not None and lineage.checked.unchecked
    )
    generated = (calibration_note(model, lineage) for model, _, lineage in graphs)
    return (*unchecked, *(note for note in generated if note is not None))


def _optimized_graphs(groups: Sequence[PlannedGroup]) -> Iterator[tuple[str, str, Lineage]]:
    """Yield each graph that was optimised for these groups once: its model, what it is called, and how it was made."""
    cells = [(cell, group.group.workload_of(cell)) for group in groups for cell in group.measured]
    graphs = {
        (workload.bundle.name, cell.artifact.variant): cell.artifact.path
        for cell, workload in cells
        if cell.artifact is not None and cell.artifact.variant
    }
    for (model, name), path in graphs.items():
        lineage = read_lineage(path)
        if lineage is not None:
            yield model, name, lineage
