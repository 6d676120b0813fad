"""Costs and shapes of a graph, counted in a separate process, because ONNX's code parses the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.cost_model.costs import ModelCost
from irbench.cost_model.formulas import ModelFormulas, NoFormulas
from irbench.errors import IrbenchError
from irbench.onnx.reading.signature import Signature
from irbench.onnx.reading.value_shapes import ValueShape
from irbench.options.values import Shapes
from irbench.requests.graph_files import StoredGraph
from irbench.runner.requested_inputs import known_sizes
from irbench.spec import BATCH, BATCH_IN_FILE, Artifact, Bundle, InputSpec, TensorSpec
from irbench.spec.requested_sizes import refuse_unknown_names
from irbench.worker.model_files import read_cost, read_formulas, read_signature, read_value_shapes

if TYPE_CHECKING:
    from irbench.requests.graph_files import StoredGraph


def cost_of(graph: StoredGraph, signature: Signature | None) -> ModelCost | None:
    """Return the cost at the sizes of the signature, else of one sample at the bundle's default sizes.

    ``None`` where a size has no default.
    """
    if signature is None:
        return None
    sizes = {BATCH: 1, **(graph.bundle.defaults if graph.bundle is not None else {})}
    inputs = tuple(spec.bind(sizes) for spec in signature.inputs)
    if any(spec.dynamic_dimensions for spec in inputs):
        return None
    return cost_at(graph.path, inputs)


def cost_at(path: Path, inputs: Sequence[TensorSpec]) -> ModelCost:
    """Return the cost of an ONNX file for inputs of these shapes."""
    return read_cost(path, inputs)


def formulas_at(graph: StoredGraph, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return the cost as formulas in the dimensions that have no size."""
    return read_formulas(graph.path, inputs)


def values_of(graph: StoredGraph, inputs: Sequence[TensorSpec]) -> tuple[ValueShape, ...]:
    """Return the shapes of all values for inputs of these shapes; none where ONNX cannot infer them."""
    try:
        return read_value_shapes(graph.path, inputs)
    except IrbenchError:
        return ()


def asked_sizes(graph: StoredGraph, batch: int | None, shapes: Shapes | None) -> dict[str, int]:
    """Return the sizes of dynamic dimensions: from a batch and shapes, else 1 and the model's defaults."""
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
