"""A graph that is looked at, at sizes of its dynamic dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irbench.onnx.reading.value_shapes import ValueShape
from irbench.options.values import Shapes
from irbench.requests.graphs import StoredGraph
from irbench.runner.inputs import known_sizes
from irbench.spec import BATCH_IN_FILE, Artifact, Bundle, InputSpec, TensorSpec
from irbench.spec.requested_sizes import refuse_unknown_names
from irbench.worker.model_files import read_signature


def asked_sizes(graph: StoredGraph, batch: int | None, shapes: Shapes | None) -> dict[str, int]:
    """Return the sizes that a batch and shapes give to dynamic dimensions; a batch of 1 and the model's defaults else.

    Raises:
        IrbenchError: A shape does not fit the graph, or the graph takes what irbench cannot make.
    """
    bundle = graph.bundle or _bundle_of_file(graph)
    refuse_unknown_names(shapes or {}, (bundle,))
    return known_sizes(bundle, batch, shapes or {})


def with_shapes(outputs: Sequence[TensorSpec], values: Sequence[ValueShape]) -> tuple[TensorSpec, ...]:
    """Return outputs with the sizes that were inferred for those of their dimensions that have none."""
    shapes = {value.name: value.shape for value in values}
    return tuple(_with_sizes(spec, shapes.get(spec.name, ())) for spec in outputs)


def _with_sizes(spec: TensorSpec, inferred: Sequence[int | str]) -> TensorSpec:
    if len(inferred) != len(spec.shape):
        return spec
    sizes = zip(spec.shape, inferred, strict=True)
    return replace(spec, shape=tuple(size if isinstance(size, int) else axis for axis, size in sizes))


def _bundle_of_file(graph: StoredGraph) -> Bundle:
    signature = read_signature(graph.path, every_output=False)
    details = {BATCH_IN_FILE: signature.batch_in_file} if signature.batch_in_file else {}
    artifact = Artifact("onnx", graph.path, signature.inputs, signature.outputs)
    inputs = tuple(map(InputSpec, signature.inputs))
    return Bundle(graph.name, inputs, (artifact,), source=str(graph.path), details=details)
