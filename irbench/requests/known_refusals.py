"""What backends and their probes say before any process starts: rows that are impossible, and default precisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.notes import NativePrecision
from irbench.onnx.reading.written_batch import WrittenBatch
from irbench.requests import probes
from irbench.runner.plan import PlannedGroup
from irbench.spec import BATCH, Cell, TensorSpec, Workload
from irbench.spec.generation import GenerationArtifact
from irbench.spi import Availability, LoadChecker, Refusal
from irbench.worker.model_files import read_written_batches

_LEFT_TO_THE_GRAPH = ("native", "int8")
"""What no probe says: the former is always possible, and the latter depends on how a graph is quantised."""


def without_refused_rows(groups: Sequence[PlannedGroup], say: Say) -> tuple[PlannedGroup, ...]:
    """Return the groups in which rows that are certainly impossible are failed already, so that none is started.

    Each group says which batch sizes are written into the graphs of its workloads.
    """
    groups = [replace(group, written_batches=_written_batches(group)) for group in groups]
    refused = [_refused(group) for group in groups]
    if not any(refused):
        return tuple(groups)
    _require_some_left(groups, refused)
    failed = ((cell, failure) for cell, failure in _rows(groups, refused) if failure is not None)
    for text in dict.fromkeys(
        f"warning: {cell.address} {cell.load.precision} is not started: {failure.message}" for cell, failure in failed
    ):
        say(text)
    return tuple(
        replace(group, absent={**group.absent, **failures}) for group, failures in zip(groups, refused, strict=True)
    )


def _refused(group: PlannedGroup) -> dict[str, Failure]:
    workloads = group.group.workloads
    at_batch = {
        place: _of_batch(workloads[place], written)
        for place, written in group.written_batches.items()
        if written.is_impossible
    }
    failures = {
        cell.id: _failure(cell)
        or (at_batch.get(cell.workload) if cell.artifact and cell.artifact.kind == "onnx" else None)
        for cell in group.measured
    }
    return {cell: failure for cell, failure in failures.items() if failure is not None}


def _require_some_left(groups: Sequence[PlannedGroup], refused: Sequence[Mapping[str, Failure]]) -> None:
    rows = list(_rows(groups, refused))
    _refuse_all(failure for _, failure in rows)
    for backend in dict.fromkeys(cell.backend for cell, _ in rows if cell.load.options):
        own = [(cell, failure) for cell, failure in rows if cell.backend == backend]
        if all(_failure(replace(cell, load=replace(cell.load, options={}))) is None for cell, _ in own):
            _refuse_all(failure for _, failure in own)


def _rows(
    groups: Sequence[PlannedGroup], refused: Sequence[Mapping[str, Failure]]
) -> Iterator[tuple[Cell, Failure | None]]:
    """Yield every row that was to be measured, with the reason why it is impossible, if it is."""
    for group, failures in zip(groups, refused, strict=True):
        yield from ((cell, failures.get(cell.id)) for cell in group.measured)


def _refuse_all(failures: Iterable[Failure | None]) -> None:
    failures_so_far = list(failures)
    first = next(iter(failures_so_far), None)
    if first is not None and all(failures_so_far):
        raise IrbenchError(f"{first.message.rstrip('.')}.", hint=first.hint or "")


def _failure(cell: Cell) -> Failure | None:
    """Return why a row is impossible; ``None`` where only its runtime can say, in irbench's own Python or another."""
    if cell.program is not None or cell.environment is not None:
        return None
    graph_precision = "" if cell.artifact is None else cell.artifact.precision
    return _probed(cell, graph_precision) or _checked(cell, graph_precision)


def _written_batches(group: PlannedGroup) -> dict[int, WrittenBatch]:
    """Return other batch sizes that are written into ONNX graphs whose batch is dynamic, by place of the workload."""
    asked: dict[tuple[Path, tuple[TensorSpec, ...]], dict[int, Mapping[str, int]]] = {}
    for place, workload in enumerate(group.group.workloads):
        artifact = workload.bundle.artifact(("onnx",))
        is_dynamic = any(BATCH in spec.tensor.dynamic_dimensions for spec in workload.bundle.inputs)
        if artifact is None or isinstance(artifact, GenerationArtifact) or not is_dynamic or workload.batch == 1:
            continue
        asked.setdefault((artifact.path, tuple(artifact.inputs)), {})[place] = workload.sizes
    written: dict[int, WrittenBatch] = {}
    for (path, inputs), sizes in asked.items():
        with suppress(IrbenchError):  # its rows will say what is wrong with it
            found = read_written_batches(path, inputs, tuple(sizes.values()))
            written |= {place: each for place, each in zip(sizes, found, strict=True) if each is not None}
    return written


_VERBS = {"Reshape": "reshapes", "Slice": "slices", "Resize": "resizes"}


def _of_batch(workload: Workload, written: WrittenBatch) -> Failure:
    """Return that an ONNX graph cannot run at a batch size, as another one is written into its file."""
    given = [" x ".join(map(str, shape)) or "scalar" for shape in written.given]
    if written.target is not None:
        target = " x ".join(map(str, written.target)) or "a scalar"
        does = f"{written.node} {_VERBS.get(written.operator, 'reduces')} {given[0]} to {target}"
    elif len(given) == 1:
        does = f"the shape {given[0]} does not fit in {written.node}"
    else:
        does = f"the shapes {', '.join(given[:-1])} and {given[-1]} do not fit in {written.node}"
    return Failure(
        "compile",
        f"the file has a batch of {written.batch} written into it: {does} at batch {workload.batch}",
        f"Export the model with a dynamic batch, or measure it with --batch {written.batch}.",
    )


def _checked(cell: Cell, graph_precision: str) -> Failure | None:
    """Return why a backend refuses a row, as far as it knows without its runtime."""
    backend = registry.backend(cell.backend)
    try:
        if isinstance(backend, LoadChecker):
            backend.check_load(cell.load, cell.device, graph_precision)
    except Refusal as refusal:
        return Failure("compile", refusal.message.rstrip("."), refusal.hint or None)
    return None


def _probed(cell: Cell, graph_precision: str) -> Failure | None:
    """Return that a backend computed a small fp32 graph in other precisions only, where it looked at this machine."""
    load = cell.load
    if not load.precision_required or load.precision in _LEFT_TO_THE_GRAPH or graph_precision not in ("", "fp32"):
        return None
    probe = probes.remembered(registry.describe(registry.BACKENDS, cell.backend))
    computed = None if probe is None else probe.precisions.get(cell.device)
    if computed is None or load.precision in computed:
        return None
    return Failure(
        "precision",
        f"{cell.address} does not compute in {load.precision} on this machine, but in {', '.join(computed) or 'none'}",
        "Choose another with --precision, or look again: irbench backends --probe.",
    )


def native_notes(backends: Sequence[BackendAddress], precisions: Sequence[str], say: Say) -> tuple[Note, ...]:
    """Return a note for each backend whose default precision here is not measured.

    Backends that never looked at this machine are asked to, once for each version.
    """
    if "native" in precisions or not precisions:
        return ()
    notes: list[Note] = []
    for name, device in backends:
        native = _native(name, device, say)
        if native is not None and native not in precisions:
            measured = tuple(dict.fromkeys(precisions))
            notes.append(NativePrecision(backend=name, precision=native, measured=measured))
    return tuple(notes)


def _native(name: str, device: str, say: Say) -> str | None:
    description = registry.describe(registry.BACKENDS, name)
    probe: Availability | None = probes.remembered(description)
    if probe is None:
        say(f"probing {name}: devices and precisions on this machine")
        try:
            probe = probes.probe(description)
        except IrbenchError:
            return None  # its row will say what is wrong with it
    return probe.native.get(device)
