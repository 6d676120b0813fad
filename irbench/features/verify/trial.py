"""The worker's side: compute outputs for given inputs, and judge a case of the suite."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.core import registry
from irbench.core.output_check import compare
from irbench.core.record import OutputError
from irbench.errors import one_line
from irbench.features.verify.cases import SuiteCase, Tried
from irbench.features.verify.data_sets import DataSet, kind_of, read_sets
from irbench.onnx.reading.element_types import spec_dtype
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Artifact, Bundle, Cell, Feeding, Load, Scalar, TensorSpec
from irbench.spi import Feed, Outputs, Refusal
from irbench.worker.cell import plain_scalar
from irbench.worker.feed_turns import require_loop, turns_of_streams
from irbench.worker.inference import OpenSession

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class SessionAnswers:
    """The outputs of a session, and what it reports to have computed them with."""

    effective: Mapping[str, Scalar]
    outputs: tuple[Sequence[Any], ...]


def answer(cell: Cell, feeds: Sequence[Feed]) -> SessionAnswers:
    """Compile a cell's artifact and run it once for each feed.

    A graph that cannot be computed in the precision of the cell is computed in the runtime's native one: a graph of
    fp16 or of integers has no other on most runtimes.
    """
    assert cell.artifact is not None
    with _session(cell, cell.artifact) as session:
        outputs = tuple(session.answer(feed) for feed in feeds)
        return SessionAnswers({key: plain_scalar(value) for key, value in session.effective.items()}, outputs)


def answer_calls(cell: Cell, bundle: Bundle, sizes: Mapping[str, int], feeding: Feeding) -> SessionAnswers:
    """Do as :func:`answer` does for each sample of a feeding, or for the first steps of its decode loop."""
    assert cell.artifact is not None
    (turns,) = turns_of_streams(bundle, sizes, feeding, cell.artifact, streams=1)
    outputs: list[Outputs] = []
    with _session(cell, cell.artifact) as session:
        while len(outputs) < feeding.checked_calls:
            feed = turns.next()
            outputs.append(session.answer(feed))
            require_loop(bundle, feeding, cell.artifact, feed, outputs[-1])
            turns.take(outputs[-1])
        return SessionAnswers({key: plain_scalar(value) for key, value in session.effective.items()}, tuple(outputs))


def try_case(case: SuiteCase, backend: str, device: str, scratch: Path) -> Tried:
    """Run one case on one backend and compare what comes out as ONNX's own runner does."""
    import onnx

    graph = onnx.load(case.model).graph
    inputs, outputs = specs(graph)
    artifact = Artifact("onnx", case.model, inputs, outputs)
    kinds = tuple(kind_of(tensor) for tensor in graph.output)
    tried: list[Tried] = []
    for data in read_sets(case.data, ("tensor_type",) * len(inputs), kinds):
        fitted = _fitted(artifact, data, scratch)
        cell = Cell(case.name, fitted, backend, device, Load())
        try:
            answered = answer(cell, [data.inputs])
        except Exception as error:  # noqa: BLE001 - every runtime says no in a way of its own
            return Tried("unsupported", _reason(error).replace(str(fitted.path), fitted.path.name))
        tried.append(_judged(case, answered, data.outputs))
    return max(tried, key=lambda result: result.outcome == "wrong")


def specs(graph: onnx.GraphProto) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Return the inputs, without those that only name weights, and the outputs of any graph.

    Nothing is refused: a type that NumPy lacks keeps the name that ONNX has for it, and an unknown rank is ().
    """
    weights = {initializer.name for initializer in graph.initializer}
    inputs = tuple(_spec(tensor) for tensor in graph.input if tensor.name not in weights)
    return inputs, tuple(_spec(tensor) for tensor in graph.output)


def _session(cell: Cell, artifact: Artifact) -> OpenSession:
    backend = registry.backend(cell.backend)
    try:
        return OpenSession(backend, artifact, cell.load, cell.device)
    except Refusal:
        return OpenSession(backend, artifact, replace(cell.load, precision="native"), cell.device)


def _spec(value: onnx.ValueInfoProto) -> TensorSpec:
    from onnx import TensorProto

    tensor = value.type.tensor_type
    try:
        dtype = spec_dtype(tensor.elem_type)
    except KeyError:
        dtype = str(TensorProto.DataType.Name(tensor.elem_type)).lower()
    axes = (
        int(size.dim_value) if size.HasField("dim_value") else size.dim_param or f"{value.name}_{axis}"
        for axis, size in enumerate(tensor.shape.dim)
    )
    return TensorSpec(value.name, dtype, tuple(axes))


def _fitted(artifact: Artifact, data: DataSet, scratch: Path) -> Artifact:
    """Return the artifact with its dynamic dimensions bound to the data's, as every backend gets it to be measured.

    It stays as it is where the data leaves a dimension empty, or gives one name two sizes.
    """
    sizes: dict[str, int] = {}
    for spec, array in zip(artifact.inputs, data.inputs, strict=True):
        for axis, size in zip(spec.shape, array.shape, strict=False):
            if isinstance(axis, str) and (size < 1 or sizes.setdefault(axis, size) != size):
                return artifact
    return bind(artifact, sizes, scratch)


def _judged(case: SuiteCase, answered: SessionAnswers, expected: Outputs) -> Tried:
    from onnx.backend.test.runner import Runner

    (outputs,) = answered.outputs
    precision = str(answered.effective["precision"])
    error, reason = _difference(outputs, expected)
    try:
        Runner.assert_similar_outputs(expected, outputs, case.rtol, case.atol)
    except (AssertionError, AttributeError, TypeError):  # the last two where a tensor and a sequence meet
        return Tried("wrong", reason, precision, error, _digest(outputs))
    return Tried("passed", "", precision, error, _digest(outputs))


def _digest(outputs: Outputs) -> str:
    """Return a digest of outputs that is the same where they have the same types, shapes and values, bit by bit."""
    digest = hashlib.sha256()
    for array in map(np.asarray, _flat(outputs)):
        values = repr(array.tolist()).encode() if array.dtype.kind in "OSU" else array.tobytes()
        digest.update(f"{array.dtype} {array.shape} ".encode() + values)
    return digest.hexdigest()


def _difference(outputs: Outputs, expected: Outputs) -> tuple[OutputError | None, str]:
    """Return how far outputs are off, where that can be said, and the sentence for those that are too far."""
    flat, reference = _flat(outputs), _flat(expected)
    try:
        error = compare(flat, reference, class_axes=(), scale=1.0)
    except (ValueError, TypeError) as problem:
        return None, _reason(problem)
    for position, (array, other) in enumerate(zip(flat, reference, strict=True)):
        if array.dtype != other.dtype:
            return error, f"output {position} is {array.dtype}, the reference {other.dtype}"
    return error, f"off by {error.max_abs:.2g}, {error.max_rel:.2g} of the largest element"


def _flat(values: Outputs) -> list[Any]:
    return [inner for value in values for inner in (value if isinstance(value, list) else [value])]


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return one_line(lines[0].strip() if lines else type(error).__name__)
