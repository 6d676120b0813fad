"""Verify one model on every backend: cells with the errors of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from irbench.address import BackendAddress
from irbench.conformance.data import DataSet
from irbench.conformance.trial import Answered
from irbench.errors import ExitCode, IrbenchError
from irbench.feeds import generate, lay_out
from irbench.notices import Reference, Warn
from irbench.onnx.reading.element_types import STRING, numpy_dtype
from irbench.output_check import compare, input_scale, judge
from irbench.record import Failure
from irbench.result import CellResult, Requested, State
from irbench.runner.answers import fallback
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import prepare
from irbench.runner.reference import expected_outputs
from irbench.runner.request import RunRequest
from irbench.spec import Artifact, Bundle, Cell, TensorSpec
from irbench.spi import Array, Outputs
from irbench.system import host
from irbench.worker.process import CallFailed, WorkerDied, call_in_worker

__all__ = [
    "DataSets",
    "ModelReport",
    "NoReference",
    "PlannedTrials",
    "Trial",
    "VerificationRequest",
    "as_logical",
    "exit_code",
    "require_fit",
    "trials",
    "verified_cells",
]

_DEADLINE_S = 300.0
_FROM_GOOD_TO_BAD: tuple[State, ...] = ("not-applicable", "ok", "mismatch", "failed")


class NoReference(Exception):
    """Nothing could compute the expected outputs; the warning says what was tried."""

    def __init__(self, warning: Warn) -> None:
        super().__init__(warning.code)
        self.warning = warning


@dataclass(frozen=True)
class DataSets:
    """A folder of data sets, which hold the expected outputs.

    Attributes:
        folder: As the user named it.
        count: How many data sets it holds.
    """

    folder: str
    count: int


@dataclass(frozen=True)
class ModelReport:
    """The document of one verified model.

    Attributes:
        model: Its name.
        verified_against: Where the expected outputs come from; ``None`` where nobody kept that.
        complete: False where the run was interrupted; the cells are those that were done.
        cells: As in the run document, with ``state``, ``failure``, ``effective`` and ``output_error``, and no times.
        warnings: What speaks against the comparison.
    """

    model: str
    verified_against: Reference | DataSets | None
    complete: bool
    cells: tuple[CellResult, ...]
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True)
class Trial:
    """Inputs with the outputs that they must lead to, and cells whose shapes are bound to them.

    Attributes:
        name: Of the data set; empty where there is one only.
        inputs: Logical inputs.
        expected: In the order of the model's outputs.
        bundle: The model.
        sizes: Every dynamic dimension bound.
        cells: One for each backend.
        absent: Why some of them cannot run it, by cell id.
    """

    name: str
    inputs: tuple[Array, ...]
    expected: Outputs
    bundle: Bundle
    sizes: Mapping[str, int]
    cells: tuple[Cell, ...]
    absent: Mapping[str, Failure]


@dataclass(frozen=True)
class PlannedTrials:
    """What every backend must answer.

    Attributes:
        trials: One for each data set; a single one for seeded inputs.
        source: Where the expected outputs come from.
        warnings: What speaks against comparing with them.
    """

    trials: tuple[Trial, ...]
    source: Reference | DataSets | None
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True)
class VerificationRequest:
    """What is verified.

    Attributes:
        bundle: The model.
        backends: In the order of the rows.
        shapes: Of inputs with dynamic dimensions, by name.
        data: A folder of data sets; ``None`` for seeded inputs and the reference that ``irbench run`` compares with.
    """

    bundle: Bundle
    backends: tuple[BackendAddress, ...]
    shapes: Mapping[str, tuple[int, ...]]
    data: Path | None


def trials(asked: VerificationRequest, scratch: Path) -> PlannedTrials:
    """Return what each backend must answer, and where that comes from.

    Args:
        asked: What is verified.
        scratch: Where copies of the model with bound shapes are written.

    Raises:
        IrbenchError: A shape is missing, or the data do not fit the model.
        NoReference: No reference could answer.
    """
    if asked.data is None:
        return _seeded(asked, scratch)
    artifact = asked.bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(
            f"{asked.bundle.name} contains no ONNX graph, and data sets follow its order of inputs.",
            hint="Export it again, or leave --data out.",
        )
    counts = (len(artifact.inputs), len(artifact.outputs))
    sets: tuple[DataSet, ...] = call_in_worker(
        "irbench.conformance.data:read_for_model", asked.data, *counts, deadline_s=_DEADLINE_S
    )
    origin = DataSets(str(asked.data), len(sets))
    return PlannedTrials(tuple(_given(asked, artifact, data, scratch) for data in sets), origin)


def verified_cells(planned: Sequence[Trial]) -> Iterator[CellResult]:
    """Yield each backend's row: the worst of its trials, each in a process of its own."""
    for cells in zip(*(trial.cells for trial in planned), strict=True):
        rows = [_row(trial, cell, named=len(planned) > 1) for trial, cell in zip(planned, cells, strict=True)]
        yield max(rows, key=_badness)


def exit_code(report: ModelReport) -> ExitCode:
    """Return what the cells come to: an interrupt first, then wrong outputs, then failures."""
    states = {cell.state for cell in report.cells}
    if not report.complete:
        return ExitCode.INTERRUPTED
    if "mismatch" in states:
        return ExitCode.DIFFERENT
    return ExitCode.FAILED_CELL if "failed" in states else ExitCode.OK


def _seeded(asked: VerificationRequest, scratch: Path) -> PlannedTrials:
    bundle = asked.bundle
    groups = _plan(asked, asked.shapes, scratch)
    group = groups[0].group
    expected = expected_outputs(group, scratch, bundle.seed, _DEADLINE_S)
    if expected.outputs is None:
        raise NoReference(expected.warnings[0])
    inputs = generate(bundle.inputs, group.sizes, bundle.seed)
    return PlannedTrials((_trial("", inputs, expected.outputs, groups),), expected.source, expected.warnings)


def _given(asked: VerificationRequest, artifact: Artifact, data: DataSet, scratch: Path) -> Trial:
    for spec, array in zip(artifact.inputs, data.inputs, strict=True):
        require_fit(spec, array, data.name)
    inputs = tuple(as_logical(array, spec) for array, spec in zip(data.inputs, artifact.inputs, strict=True))
    names = (spec.tensor.name for spec in asked.bundle.inputs)
    shapes = {name: array.shape for name, array in zip(names, inputs, strict=True)}
    return _trial(data.name, inputs, data.outputs, _plan(asked, shapes, scratch))


def _plan(asked: VerificationRequest, shapes: Mapping[str, tuple[int, ...]], scratch: Path) -> tuple[PlannedGroup, ...]:
    request = RunRequest((asked.bundle,), asked.backends, threads=host.allowance().threads, shapes=shapes)
    return plan(request, prepare(request, scratch))


def _trial(name: str, inputs: tuple[Array, ...], expected: Outputs, groups: Sequence[PlannedGroup]) -> Trial:
    group = groups[0].group
    cells = {cell.id: cell for planned in groups for cell in planned.group.cells}  # parts of a split group share a cell
    absent = {cell: failure for planned in groups for cell, failure in planned.absent.items()}
    return Trial(name, inputs, expected, group.bundle, group.sizes, tuple(cells.values()), absent)


def require_fit(spec: TensorSpec, array: Array, place: str) -> None:
    """Refuse an array that an input cannot take, which a runtime would refuse in words of its own.

    Args:
        spec: The input.
        array: What is given for it.
        place: Where it comes from, for the message.

    Raises:
        IrbenchError: Its dtype or shape is another.
    """
    fits = len(spec.shape) == array.ndim and all(
        isinstance(axis, str) or axis == size for axis, size in zip(spec.shape, array.shape, strict=True)
    )
    if not _is_of(array, spec.dtype) or not fits:
        raise IrbenchError(
            f"{place} gives {array.dtype} of {_shape(array.shape)} for the input '{spec.name}', which takes "
            f"{spec.dtype} of {_shape(spec.shape)}.",
            hint="Inputs are matched by order: input_0.pb is for the first input of the model.",
        )


def _is_of(array: Array, dtype: str) -> bool:
    """Whether an array has the type of a spec; NumPy has several for strings."""
    return array.dtype.kind in "OSU" if dtype == STRING else array.dtype == numpy_dtype(dtype)


def as_logical(array: Array, spec: TensorSpec) -> Array:
    """Return an array of the ONNX graph's in the layout that the model's inputs have in every form of it."""
    return array if spec.permutation is None else array.transpose(np.argsort(spec.permutation))


def _row(trial: Trial, cell: Cell, *, named: bool) -> CellResult:
    row = CellResult(
        id=cell.id,
        label=cell.label,
        artifact=cell.artifact.label if cell.artifact is not None else "",
        backend=cell.backend,
        device=cell.device,
        mode="sync",
        batch=cell.load.batch,
        io=cell.io,
        requested=Requested(cell.load.threads, cell.load.streams, cell.load.precision),
        effective={},
        state="not-applicable",
        failure=trial.absent.get(cell.id),
    )
    if row.failure is not None:
        return row if row.failure.stage == "plan" else replace(row, state="failed")
    row = _answered(trial, cell, row)
    if row.failure is None or not named:
        return row
    return replace(row, failure=replace(row.failure, message=f"{trial.name}: {row.failure.message}"))


def _answered(trial: Trial, cell: Cell, row: CellResult) -> CellResult:
    assert cell.artifact is not None
    feed = lay_out(trial.inputs, cell.artifact)
    try:
        found: Answered = call_in_worker("irbench.conformance.trial:answer", cell, [feed], deadline_s=_DEADLINE_S)
    except (CallFailed, WorkerDied) as problem:
        return replace(row, state="failed", failure=Failure("run", problem.message, problem.hint or None))
    row = replace(row, effective=found.effective)
    strayed = fallback(cell, found.effective)
    if strayed is not None:
        return replace(row, state="failed", failure=strayed)
    try:
        error = compare(found.outputs[0], trial.expected, trial.bundle.classifier, input_scale(trial.inputs))
    except ValueError as problem:
        return replace(row, state="mismatch", failure=Failure("verify", str(problem)))
    failure = judge(error, str(found.effective["precision"]), cell.artifact.precision)
    return replace(row, state="mismatch" if failure else "ok", failure=failure, output_error=error)


def _badness(row: CellResult) -> tuple[int, float]:
    return _FROM_GOOD_TO_BAD.index(row.state), row.output_error.max_rel if row.output_error is not None else 0.0


def _shape(sizes: Sequence[int | str]) -> str:
    return "x".join(str(size) for size in sizes) or "no axes"
