"""The document that a profile begins with: its cells and the graphs that their operators are joined with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from irbench import __version__
from irbench.core import registry
from irbench.core.record import Failure
from irbench.core.row import head_of
from irbench.errors import IrbenchError
from irbench.features.profile.joining import ORIGINAL
from irbench.features.profile.record import PROFILE_VERSION, GraphNode, ProfiledCell, ProfileDocument
from irbench.features.profile.request import ProfileOptions
from irbench.measure.clock import utc_now
from irbench.notices.notes import NoOperatorTimes
from irbench.onnx.operator_classes import OperatorClass
from irbench.optimizer import UNOPTIMIZED
from irbench.roofline import MachinePeaks
from irbench.runner.cells import is_at_level
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.runs.run_destination import describe_environment
from irbench.runs.work import known_peaks
from irbench.spec import Artifact, Cell, TensorSpec, Workload
from irbench.spi import ProfilingBackend
from irbench.stats.workload_facts import table_of
from irbench.store.ulid import new_ulid
from irbench.worker.model_files import read_file

_DEADLINE_S = 120.0
_ONNX = ("onnx",)


def with_capable_backends(planned: PlannedGroup, *, were_named: bool) -> PlannedGroup:
    """Return a table in which no cell is measured whose backend records no operators.

    Args:
        planned: The table.
        were_named: Whether the user named its backends: then such a cell fails at once, with the reason. Otherwise it
            is left out, with a note, unless nothing else is left.
    """
    unable = [cell for cell in planned.measured if not isinstance(registry.backend(cell.backend), ProfilingBackend)]
    if not unable:
        return planned
    if were_named or len(unable) == len(planned.measured):
        return replace(planned, absent={**planned.absent, **{cell.id: _unable(cell.backend) for cell in unable}})
    out = {cell.id for cell in unable}
    note = NoOperatorTimes(backends=tuple(dict.fromkeys(cell.backend for cell in unable)))
    left = with_rows(planned, [cell.id for cell in planned.group.cells if cell.id not in out])
    return replace(left, notes=(*left.notes, note))


def _unable(backend: str) -> Failure:
    return Failure("plan", f"{backend} does not report how long operators take", "Leave it out of --backends.")


def begun_profile(options: ProfileOptions, request: RunRequest, planned: PlannedGroup) -> ProfileDocument:
    """Return the document of a profile that has no launch yet.

    Graphs are read in processes of their own.

    Args:
        options: What was asked for.
        request: The same, resolved.
        planned: The table.

    Raises:
        IrbenchError: A graph cannot be read.
    """
    now = utc_now()
    main = planned.group.main
    return table_of(
        ProfileDocument,
        main,
        profile_version=PROFILE_VERSION,
        profile_id=new_ulid(now),
        created=now.isoformat(timespec="seconds"),
        irbench_version=__version__,
        inferences=options.plan.inferences,
        launches=options.plan.launches,
        environment=describe_environment(),
        plan=request.as_plan(),
        graphs=dict(_graphs(planned)),
        cells=tuple(_cell(cell, options.compared, planned) for cell in planned.group.cells),
        compared=options.compared,
        kinds=dict(_kinds(planned.group.cells)),
        notes=planned.notes,
        peaks=_peaks(),
    )


def _peaks() -> MachinePeaks | None:
    known = known_peaks()
    return None if known is None else replace(known, samples=())


def _cell(cell: Cell, compared: Sequence[str], planned: PlannedGroup) -> ProfiledCell:
    artifact = cell.artifact
    level = next((level for level in compared if is_at_level(cell, level)), _level_of(artifact))
    return head_of(
        ProfiledCell,
        cell,
        level=level,
        graph=_level_of(artifact) if artifact is not None and artifact.kind in _ONNX else ORIGINAL,
        failure=planned.absent.get(cell.id),
    )


def _level_of(artifact: Artifact | None) -> str:
    return (artifact.variant if artifact is not None else "") or UNOPTIMIZED


def _graphs(planned: PlannedGroup) -> Iterator[tuple[str, tuple[GraphNode, ...]]]:
    """Yield each graph that cells run, and the exported one, in which those of other forms are counted too."""
    found = {
        _level_of(cell.artifact): cell.artifact
        for cell in planned.measured
        if cell.artifact is not None and cell.artifact.kind in _ONNX
    }
    exported = planned.group.main.bundle.artifact(_ONNX)
    if ORIGINAL not in found and exported is not None:
        found[ORIGINAL] = exported
    for level, artifact in found.items():
        made_from = None if level == ORIGINAL or exported is None else exported.path
        yield level, _read(artifact.path, _bound(artifact, planned.group.main), made_from)


def _bound(artifact: Artifact, workload: Workload) -> tuple[TensorSpec, ...]:
    return tuple(spec.bind(workload.sizes) for spec in artifact.inputs)


def _read(path: Path, inputs: tuple[TensorSpec, ...], made_from: Path | None) -> tuple[GraphNode, ...]:
    target = "irbench.features.profile.graph_reading:read_graph"
    try:
        found: tuple[GraphNode, ...] = read_file(
            target,
            path,
            inputs,
            made_from,
            returns=tuple[GraphNode, ...],
            imports=("onnx",),
            deadline_s=_DEADLINE_S,
        )
    except IrbenchError as error:
        raise IrbenchError(f"The nodes of {path.name} cannot be read: {error.message}", hint=error.hint) from error
    return found


def _kinds(cells: Sequence[Cell]) -> Iterator[tuple[str, Mapping[str, OperatorClass]]]:
    for backend in dict.fromkeys(cell.backend for cell in cells):
        reported = registry.describe(registry.BACKENDS, backend).operator_kinds
        yield backend, {kind: OperatorClass(name) for kind, name in reported.items()}
