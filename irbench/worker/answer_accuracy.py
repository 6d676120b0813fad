"""How good the answers of one row are by the user's measure, computed in a process of its own."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from irbench.core import registry
from irbench.core.feeds import lay_out, logical_inputs
from irbench.core.output_check import compare, judge
from irbench.core.record import OutputError
from irbench.errors import IrbenchError, first_line
from irbench.spec import Accuracy, AccuracyLimit, Cell, Workload
from irbench.spi import Array, Outputs
from irbench.worker.inference import OpenSession
from irbench.worker.own_code.imported_code import imported_function

Sample: TypeAlias = dict[str, Any]
"""Arrays by the names of inputs or outputs; an output that is a sequence of tensors is a list."""

_HOW_IT_IS_CALLED = (
    "Write it as fn(inputs, outputs) or fn(inputs, outputs, expected), each a list of dicts of arrays; a parameter "
    "called labels gets the numbers of classes."
)
_LABELS = "labels"


@dataclass(frozen=True)
class AccuracyTask:
    """What a worker needs to know.

    Attributes:
        expected: What the reference answers to each call, in the order of the model's outputs; ``None`` where there is
            no reference.
        scale: Size of the inputs: :func:`irbench.core.output_check.input_scale`.
        class_axes: For each output the axis along which its largest class is compared, without a function of the
            user's; ``None`` for one that is not compared.
    """

    cell: Cell
    workload: Workload
    expected: tuple[Outputs, ...] | None
    scale: float
    limit: AccuracyLimit
    class_axes: tuple[int | None, ...] = (-1,)


def measure_accuracy(task: AccuracyTask) -> Accuracy:
    """Let a row answer every sample, and measure how good the answers are."""
    answers, precision = _answers(task)
    error = _worst_error(answers, task)
    samples = _Samples(task.workload)
    graph_precision = task.cell.artifact.precision if task.cell.artifact is not None else ""
    return Accuracy(
        value=_own_value(answers, task, samples) if task.limit.function else _agreement(answers, task, samples),
        limit=_named_limit(task),
        samples=samples.count,
        max_rel=None if error is None else error.max_rel,
        misses_tolerance=error is not None and judge(error, precision, graph_precision) is not None,
    )


def _answers(task: AccuracyTask) -> tuple[tuple[Outputs, ...], str]:
    cell, workload = task.cell, task.workload
    assert cell.artifact is not None
    feeds = (lay_out(arrays, cell.artifact) for arrays in _logical_calls(workload))
    with OpenSession(registry.backend(cell.backend), cell.artifact, cell.load, cell.device) as session:
        return tuple(session.answer(feed) for feed in feeds), str(session.effective.get("precision"))


def _logical_calls(workload: Workload) -> Iterator[tuple[Array, ...]]:
    feeding = workload.feeding
    return (logical_inputs(workload.bundle.inputs, workload.sizes, feeding, call) for call in range(feeding.count))


def _worst_error(answers: Sequence[Outputs], task: AccuracyTask) -> OutputError | None:
    if task.expected is None:
        return None
    try:
        errors = [
            compare(outputs, expected, class_axes=(), scale=task.scale)
            for outputs, expected in zip(answers, task.expected, strict=True)
        ]
    except (TypeError, ValueError):  # not finite, or no tensors: the user's measure may bear with them
        return None
    return max(errors, key=lambda error: error.max_rel)


def _named_limit(task: AccuracyTask) -> AccuracyLimit:
    """Return the limit with the names of the outputs that are compared, unless the model has a single one."""
    if task.limit.function:
        return task.limit
    return replace(task.limit, classes=task.workload.bundle.names_of_classes(task.class_axes))


def _agreement(answers: Sequence[Outputs], task: AccuracyTask, samples: _Samples) -> float:
    """Return the share of samples whose largest class is that of the reference: the least of all outputs."""
    axes = enumerate(task.class_axes)
    return min(_agreement_of(place, axis, answers, task, samples) for place, axis in axes if axis is not None)


def _agreement_of(place: int, axis: int, answers: Sequence[Outputs], task: AccuracyTask, samples: _Samples) -> float:
    assert task.expected is not None
    chosen, expected = (
        np.concatenate([np.asarray(arrays[place]).argmax(axis=axis).ravel() for arrays in samples.parts(calls)])
        for calls in (answers, task.expected)
    )
    return float(np.mean(chosen == expected))


def _own_value(answers: Sequence[Outputs], task: AccuracyTask, samples: _Samples) -> float:
    target = task.limit.function
    function = imported_function(target)
    arguments = [samples.inputs(), samples.outputs(answers)]
    signature = _signature(function)
    if _takes_expected(signature, target):
        if task.expected is None:
            raise IrbenchError(
                f"{target} takes the expected outputs, and no reference could answer.",
                hint="Write it as fn(inputs, outputs).",
            )
        arguments.append(samples.outputs(task.expected))
    given, labels = _with_labels(arguments, signature, target, task.workload.feeding.labels)
    try:
        value = function(*given, **labels)
    except (Exception, SystemExit) as error:
        raise IrbenchError(
            f"{target} raised {type(error).__name__}: {first_line(error)}",
            hint=_how_to_find(error, inputs=arguments[0], outputs=arguments[1]),
        ) from error
    return _number(value, target)


def _how_to_find(error: BaseException, inputs: Sequence[Sample], outputs: Sequence[Sample]) -> str:
    if isinstance(error, KeyError) and inputs and outputs:
        return (
            f"Samples have the names of the ONNX graph: inputs {', '.join(inputs[0])}; outputs {', '.join(outputs[0])}."
        )
    return "Call it in Python, which shows where it fails."


def _signature(function: Any) -> inspect.Signature | None:
    """Return the signature of a function; ``None`` for one that is not written in Python."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _with_labels(
    arguments: list[Any], signature: inspect.Signature | None, target: str, labels: tuple[int, ...]
) -> tuple[list[Any], dict[str, Array]]:
    """Return positional and keyword arguments with labels where a function has a parameter for them."""
    parameter = None if signature is None else signature.parameters.get(_LABELS)
    if signature is None or parameter is None or not (labels or parameter.default is inspect.Parameter.empty):
        return arguments, {}
    if not labels:
        raise IrbenchError(
            f"{target} takes labels, and the data have none.",
            hint="Give a folder that contains a folder of images for each class: --data DIR.",
        )
    place = list(signature.parameters).index(_LABELS)
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY or place > len(arguments):
        return arguments, {_LABELS: np.array(labels)}
    return [*arguments[:place], np.array(labels), *arguments[place:]], {}


def _takes_expected(signature: inspect.Signature | None, target: str) -> bool:
    """Whether a function wants the expected outputs: it needs a third argument, or has one of that name."""
    if signature is None:
        return False
    own = [parameter for name, parameter in signature.parameters.items() if name != _LABELS]
    signature = signature.replace(parameters=own)
    if _binds(signature, 2):
        return list(signature.parameters)[2:3] == ["expected"]
    if _binds(signature, 3):
        return True
    raise IrbenchError(f"{target} takes other arguments than a measure is called with.", hint=_HOW_IT_IS_CALLED)


def _binds(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*(None,) * count)
    except TypeError:
        return False
    return True


def _number(value: Any, target: str) -> float:
    scalar = value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value
    if not isinstance(scalar, numbers.Real) or math.isnan(scalar):
        shown = "nan" if isinstance(scalar, numbers.Real) else type(value).__name__
        raise IrbenchError(f"{target} returned {shown}, which is not a number.", hint="Return a float.")
    return float(scalar)


class _Samples:
    """Calls as the samples that they are made of: rows of given data that were put together are taken apart again."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._rows = workload.feeding.rows
        self._of_a_call = workload.feeding.rows_per_call

    @property
    def count(self) -> int:
        """How many there are: rows of the data, or what all calls hold along their batch axis."""
        return self._rows or self._workload.feeding.count * self._workload.batch

    def inputs(self) -> list[Sample]:
        names = [spec.tensor.name for spec in self._workload.bundle.inputs]
        return self._named(names, list(_logical_calls(self._workload)))

    def outputs(self, calls: Sequence[Outputs]) -> list[Sample]:
        return self._named([spec.name for spec in self._workload.bundle.outputs], calls)

    def parts(self, calls: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
        """Yield the arrays of each sample; without those that only filled up the last call."""
        if not self._rows:
            yield from map(list, calls)
            return
        for row in range(self._rows):
            call, place = divmod(row, self._of_a_call)
            yield [self._part(array, place) for array in calls[call]]

    def _named(self, names: Sequence[str], calls: Sequence[Sequence[Any]]) -> list[Sample]:
        return [dict(zip(names, arrays, strict=True)) for arrays in self.parts(calls)]

    def _part(self, array: Any, place: int) -> Any:
        is_batched = isinstance(array, np.ndarray) and array.shape[:1] == (self._of_a_call,)
        return array[place : place + 1] if is_batched else array
