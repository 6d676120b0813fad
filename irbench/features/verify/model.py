"""Verify one model on every backend: cells with the errors of their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from irbench.core.feeds import lay_out
from irbench.core.output_check import compare, input_scale, judge
from irbench.core.record import Failure
from irbench.core.row import CellResult, State, row_of
from irbench.errors import IrbenchError
from irbench.features.verify.data_sets import DataSet
from irbench.features.verify.report import DataSets, NoReference, PlannedTrials, Trial, VerificationRequest
from irbench.features.verify.trial import SessionAnswers
from irbench.onnx.reading.element_types import STRING, numpy_dtype
from irbench.options.run import RunOptions
from irbench.runner.plan import PlannedGroup, other_form, plan
from irbench.runner.prepare import prepare
from irbench.runner.reference import expected_outputs, fallback
from irbench.runner.request import RunRequest
from irbench.runner.requested_inputs import memory_for_data_bytes
from irbench.spec import Artifact, Cell, TensorSpec, shape_text
from irbench.spi import Array, Outputs
from irbench.system import host
from irbench.worker.failures import CallFailed, WorkerDied
from irbench.worker.limited_call import LIMITED_CALL
from irbench.worker.process import call_in_worker
from irbench.worker.requested_confinement import confinement_of

_FROM_GOOD_TO_BAD: tuple[State, ...] = ("not-applicable", "ok", "mismatch", "failed")


def trials(request: VerificationRequest, scratch: Path) -> PlannedTrials:
    """Return what each backend must answer, and where that comes from."""
    if request.data is None:
        return _seeded(request, scratch)
    artifact = request.bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(
            f"{request.bundle.name} contains no ONNX graph, and data sets follow its order of inputs.",
            hint="Export it again, or leave `--data` out.",
        )
    counts = (len(artifact.inputs), len(artifact.outputs))
    try:
        sets: tuple[DataSet, ...] = call_in_worker(
            LIMITED_CALL,
            "irbench.features.verify.data_sets:read_for_model",
            *(request.data, *counts, memory_for_data_bytes()),
            deadline_s=request.deadline_s,
        )
    except WorkerDied as death:
        raise death.during(f"The data in {request.data} could not be read.") from death
    origin = DataSets(str(request.data), len(sets))
    return PlannedTrials(tuple(_from_data_set(request, artifact, data, scratch) for data in sets), origin)


def verified_cells(planned: Sequence[Trial]) -> Iterator[CellResult]:
    """Yield each backend's row: the worst of its trials, each in a process of its own."""
    for cells in zip(*(trial.cells for trial in planned), strict=True):
        rows = [_row(trial, cell, named=len(planned) > 1) for trial, cell in zip(planned, cells, strict=True)]
        yield max(rows, key=_badness)


def answers_of(trial: Trial, cell: Cell) -> SessionAnswers:
    """Return what a cell answers to each call of a trial, in a process of its own.

    Where its runtime refuses the graph with bound shapes, it runs the one with dynamic ones.
    """
    try:
        return _answers(trial, cell)
    except (CallFailed, WorkerDied):
        other = other_form(cell, trial.others)
        if other is None:
            raise
        return _answers(trial, other)


def _seeded(request: VerificationRequest, scratch: Path) -> PlannedTrials:
    planned = _plan(request, request.shapes, scratch)
    group = planned.group
    expected = expected_outputs(group.main, group.cells, scratch, request.deadline_s)
    if expected.outputs is None:
        raise NoReference(expected.warnings[0])
    trial = trial_of("", (), expected.outputs, planned, request.deadline_s)
    trial = replace(trial, feeding=group.main.feeding, scale=expected.scale)
    return PlannedTrials((trial,), expected.source, expected.warnings)


def _from_data_set(request: VerificationRequest, artifact: Artifact, data: DataSet, scratch: Path) -> Trial:
    for spec, array in zip(artifact.inputs, data.inputs, strict=True):
        require_fit(spec, array, data.name)
    inputs = tuple(map(as_logical, data.inputs, artifact.inputs))
    names = (spec.tensor.name for spec in request.bundle.inputs)
    shapes = {name: array.shape for name, array in zip(names, inputs, strict=True)}
    trial = trial_of(data.name, inputs, (data.outputs,), _plan(request, shapes, scratch), request.deadline_s)
    return replace(trial, scale=input_scale(inputs))


def _plan(request: VerificationRequest, shapes: Mapping[str, tuple[int, ...]], scratch: Path) -> PlannedGroup:
    threads = host.allowance().threads
    run = RunRequest(
        (request.bundle,),
        request.backends,
        threads=(threads,),
        precisions=request.precisions,
        asked=RunOptions(
            shape=shapes,
            seed=request.bundle.seed,
            data=request.inputs.data,
            value=request.inputs.values,
            feedback=request.inputs.feedback,
            environments=request.environments,
            set=request.settings,
        ),
    )
    (planned,) = plan(run, prepare(run, scratch))
    return planned


def trial_of(
    name: str, inputs: tuple[Array, ...], expected: tuple[Outputs, ...], planned: PlannedGroup, deadline_s: float
) -> Trial:
    """Return the trial of a case: its inputs, what they should give, and the rows of a group that answer it."""
    group, workload = planned.group, planned.group.main
    bound = (workload.bundle, workload.sizes, group.cells)
    return Trial(name, inputs, expected, *bound, planned.absent, planned.others, deadline_s=deadline_s)


def require_fit(spec: TensorSpec, array: Array, place: str) -> None:
    """Refuse an array that an input cannot take, which a runtime would refuse in words of its own."""
    fits = len(spec.shape) == array.ndim and all(
        isinstance(axis, str) or axis == size for axis, size in zip(spec.shape, array.shape, strict=True)
    )
    is_of_type = array.dtype.kind in "OSU" if spec.dtype == STRING else array.dtype == numpy_dtype(spec.dtype)
    if not is_of_type or not fits:
        raise IrbenchError(
            f"{place} gives {array.dtype} of {shape_text(array.shape)} for the input '{spec.name}', which takes "
            f"{spec.dtype} of {shape_text(spec.shape)}.",
            hint="Inputs are matched by order: input_0.pb is for the first input of the model.",
        )


def as_logical(array: Array, spec: TensorSpec) -> Array:
    """Return an array of the ONNX graph's in the layout that the model's inputs have in every form of it."""
    return array if spec.permutation is None else array.transpose(np.argsort(spec.permutation))


def _row(trial: Trial, cell: Cell, *, named: bool) -> CellResult:
    row = row_of(
        CellResult,
        cell,
        mode="sync",
        effective={},
        state="not-applicable",
        failure=trial.absent.get(cell.id),
        environment=cell.environment,
    )
    if row.failure is not None:
        return row if row.failure.stage == "plan" else replace(row, state="failed")
    row = _with_either_graph(trial, cell, row)
    if row.failure is None or not named:
        return row
    return replace(row, failure=replace(row.failure, message=f"{trial.name}: {row.failure.message}"))


def _with_either_graph(trial: Trial, cell: Cell, row: CellResult) -> CellResult:
    bound = _answered(trial, cell, row)
    other = other_form(cell, trial.others) if bound.state == "failed" else None
    if other is None:
        return bound
    dynamic = _answered(trial, other, replace(row, label=other.label, dynamic=other.dynamic))
    return bound if dynamic.state == "failed" else dynamic


def _answered(trial: Trial, cell: Cell, row: CellResult) -> CellResult:
    try:
        answers = _answers(trial, cell)
    except (CallFailed, WorkerDied) as problem:
        return replace(row, state="failed", failure=Failure("run", problem.message, problem.hint or None))
    row = replace(row, effective=answers.effective)
    strayed = fallback(cell, answers.effective)
    if strayed is not None:
        return replace(row, state="failed", failure=strayed)
    try:
        errors = [
            compare(outputs, expected, trial.bundle.known_class_axes, trial.scale)
            for outputs, expected in zip(answers.outputs, trial.expected, strict=True)
        ]
    except ValueError as problem:
        return replace(row, state="mismatch", failure=Failure("verify", str(problem)))
    error = max(errors, key=lambda error: error.max_rel)
    graph_precision = cell.artifact.precision if cell.artifact is not None else ""
    failure = judge(error, str(answers.effective.get("precision")), graph_precision)
    return replace(row, state="mismatch" if failure else "ok", failure=failure, output_error=error)


def _answers(trial: Trial, cell: Cell) -> SessionAnswers:
    assert cell.artifact is not None
    if trial.feeding is None:
        feeds = [lay_out(trial.inputs, cell.artifact)]
        arguments: tuple[Any, ...] = ("irbench.features.verify.trial:answer", cell, feeds)
    else:
        loop = (trial.bundle, dict(trial.sizes), trial.feeding)
        arguments = ("irbench.features.verify.trial:answer_calls", cell, *loop)
    confinement = confinement_of(cell, trial.feeding.samples if trial.feeding is not None else ())
    answered: SessionAnswers = call_in_worker(
        *arguments, deadline_s=trial.deadline_s, python=cell.python, confinement=confinement, returns=SessionAnswers
    )
    return answered


def _badness(row: CellResult) -> tuple[int, float]:
    return _FROM_GOOD_TO_BAD.index(row.state), row.output_error.max_rel if row.output_error is not None else 0.0
