"""Which rows of a table answer as well as the user asks for: found out before anything is timed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from irbench.core.feeds import generate, write_sample
from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.notices import Note
from irbench.notices.conversions import top1_text
from irbench.notices.notes import AccuracyOfRandomInputs
from irbench.runner.plan import PlannedGroup, other_form
from irbench.runner.reference import ReferenceOutputs, expected_outputs
from irbench.spec import Accuracy, AccuracyLimit, Cell, Group, Workload, only_axis
from irbench.worker.answer_accuracy import AccuracyTask
from irbench.worker.failures import CallFailed, WorkerDied, WorkerTimedOut
from irbench.worker.process import call_in_worker
from irbench.worker.requested_confinement import confinement_of, refuse_own_code_beside_models

GENERATED = 32
"""How many random samples are answered where none are given."""

Hear: TypeAlias = Callable[[Cell, Accuracy | Failure], None]
"""Receives the result of a row, which stands for all that answer alike."""


@dataclass(frozen=True)
class AnsweredModel:
    """A model at one batch, with its samples.

    Attributes:
        random_samples: How many of the samples are random: all, or none where some were given.
    """

    workload: Workload
    expected: ReferenceOutputs
    random_samples: int


def answers_key(cell: Cell, group: Group) -> Hashable:
    """Return what rows have in common that give the same answers: threads, streams, instances and batch change none."""
    load = cell.load
    options = tuple(sorted(load.options.items()))
    own = (str(cell.address), cell.python, cell.program, cell.artifact and cell.artifact.label, cell.dynamic)
    return (*own, group.workload_of(cell).bundle.name, load.precision, load.precision_required, options)


def judged_class_axes(workload: Workload) -> tuple[int | None, ...]:
    """Return for each output the axis along which its largest value is a class, ``None`` where it is none.

    Where nobody knows which these are, the only output is taken for scores if it has several for
    each sample, along one axis.
    """
    bundle = workload.bundle
    if bundle.class_axes is not None or bundle.known_class_axes:
        return bundle.known_class_axes
    if len(bundle.outputs) != 1 or "float" not in bundle.outputs[0].dtype:
        return ()
    axis = only_axis(bundle.outputs[0].shape)
    return () if axis is None else (axis,)


def checked_group(
    planned: PlannedGroup, limit: AccuracyLimit, scratch: Path, deadline_s: float, hear: Hear
) -> PlannedGroup:
    """Return the table with the accuracy of each row; those that miss the limit are not launched.

    ``deadline_s`` is for each combination of what changes answers.
    """
    refuse_own_code_beside_models(limit.function)
    first: dict[Hashable, Cell] = {}
    for cell in sorted(planned.measured, key=lambda cell: cell.load.batch):  # the smallest batch is the quickest
        first.setdefault(answers_key(cell, planned.group), cell)
    scratch.mkdir(parents=True, exist_ok=True)
    places = dict.fromkeys(cell.workload for cell in first.values())
    answered = {place: _answered(planned, place, limit, scratch, deadline_s) for place in places}
    results: dict[Hashable, Accuracy | Failure] = {}
    for key, cell in first.items():
        results[key] = _measured(cell, planned, limit, answered[cell.workload], deadline_s)
        hear(cell, results[key])
    random = max((own.random_samples for own in answered.values()), default=0)
    notes = (AccuracyOfRandomInputs(samples=random),) if random else ()
    return _with_results(planned, results, notes)


def _answered(
    planned: PlannedGroup, place: int, limit: AccuracyLimit, scratch: Path, deadline_s: float
) -> AnsweredModel:
    workload = planned.group.workloads[place]
    _require_classifier(workload, limit)
    is_given = bool(workload.feeding.samples)
    workload = _with_samples(workload, scratch)
    _require_several(workload, limit)
    own = [cell for cell in planned.measured if cell.workload == place]
    expected = expected_outputs(workload, own, scratch, deadline_s)
    _require_reference(expected, limit)
    is_random = bool(workload.feeding.samples) and not is_given
    return AnsweredModel(workload, expected, GENERATED * workload.batch if is_random else 0)


def _measured(
    cell: Cell, planned: PlannedGroup, limit: AccuracyLimit, answered: AnsweredModel, deadline_s: float
) -> Accuracy | Failure:
    """Return the accuracy of a row, or why it has none; where its graph is refused, the other form is tried."""
    try:
        return accuracy_of(cell, limit, answered, deadline_s)
    except (CallFailed, WorkerDied) as problem:
        failure = Failure("accuracy", problem.message.rstrip("."), problem.hint or None)
        other = None if isinstance(problem, WorkerTimedOut) else other_form(cell, planned.others)
    try:
        return failure if other is None else accuracy_of(other, limit, answered, deadline_s)
    except (CallFailed, WorkerDied):
        return failure


def accuracy_of(cell: Cell, limit: AccuracyLimit, answered: AnsweredModel, deadline_s: float) -> Accuracy:
    """Return how accurate a cell is, asked one sample at a time in a worker of its own."""
    expected = answered.expected
    alone = replace(cell, load=replace(cell.load, threads=None, streams=1, instances=1))
    axes = judged_class_axes(answered.workload)
    task = AccuracyTask(alone, answered.workload, expected.outputs, expected.scale, limit, axes)
    accuracy: Accuracy = call_in_worker(
        "irbench.worker.answer_accuracy:measure_accuracy",
        task,
        deadline_s=deadline_s,
        python=cell.python,
        confinement=confinement_of(alone, answered.workload.feeding.samples),
        returns=Accuracy,
    )
    return accuracy


def _with_results(
    planned: PlannedGroup, results: Mapping[Hashable, Accuracy | Failure], notes: tuple[Note, ...]
) -> PlannedGroup:
    group = planned.group
    known = {cell.id: results[answers_key(cell, group)] for cell in planned.measured}
    failures = {cell: failure for cell, result in known.items() if (failure := _failure(result)) is not None}
    values = {cell: result for cell, result in known.items() if isinstance(result, Accuracy)}
    cells = tuple(replace(cell, accuracy=values.get(cell.id)) for cell in group.cells)
    return replace(
        planned,
        group=replace(group, cells=cells),
        absent={**planned.absent, **failures},
        notes=(*planned.notes, *notes),
    )


def _failure(result: Accuracy | Failure) -> Failure | None:
    if isinstance(result, Failure):
        return result
    if result.is_within_limit:
        return None
    limit = result.limit
    side = "below" if limit.bound == "at-least" else "above"
    if not limit.function:
        measure = top1_text(limit.classes)
        return Failure("accuracy", f"{measure} {100 * result.value:.4g} % is {side} {100 * limit.limit:.4g} %")
    return Failure("accuracy", f"{limit.function_name} is {result.value:.4g}, {side} {limit.limit:g}")


def _with_samples(workload: Workload, scratch: Path) -> Workload:
    """Return a workload with its samples; where none are given, with random ones, unless constants leave only one."""
    feeding, specs = workload.feeding, workload.bundle.inputs
    drawn = [spec for spec in specs if spec.tensor.name not in feeding.values]
    if feeding.samples or not drawn:
        return workload
    paths = tuple(scratch / f"{workload.bundle.name}-sample-{number}.npz" for number in range(GENERATED))
    for number, path in enumerate(paths):
        arrays = generate(specs, workload.sizes, feeding.seed + number)
        named = {spec.tensor.name: array for spec, array in zip(specs, arrays, strict=True) if spec in drawn}
        write_sample(path, specs, named)
    return replace(workload, feeding=replace(feeding, samples=paths))


def _require_several(workload: Workload, limit: AccuracyLimit) -> None:
    feeding = workload.feeding
    count = feeding.rows or (feeding.count * workload.batch if feeding.samples else 1)
    if not limit.function and count == 1:
        raise IrbenchError("One sample says nothing about agreement.", hint="Give more samples with --data.")


def _require_classifier(workload: Workload, limit: AccuracyLimit) -> None:
    if not limit.function and not judged_class_axes(workload):
        names = ", ".join(spec.name for spec in workload.bundle.outputs)
        raise IrbenchError(
            "--min-accuracy compares largest classes, and no output of "
            f"{workload.bundle.name} is known to hold scores of classes.",
            hint=f"Name one with `--classes`, of {names}; or give a measure of your own: --metric 'file.py:fn>=0.9'.",
        )


def _require_reference(expected: ReferenceOutputs, limit: AccuracyLimit) -> None:
    if not limit.function and expected.outputs is None:
        raise IrbenchError(
            "--min-accuracy needs a reference to agree with, and none could answer.",
            hint="Give a measure of your own, which needs none: --metric 'file.py:fn>=0.9'.",
        )
