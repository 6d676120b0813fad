"""Costs and shapes of a graph, counted in a separate process, because ONNX's code parses the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.cost_model.costs import ModelCost
from irbench.cost_model.formulas import ModelFormulas, NoFormulas
from irbench.errors import IrbenchError
from irbench.onnx.reading.signature import Signature
from irbench.onnx.reading.value_shapes import ValueShape
from irbench.spec import BATCH, TensorSpec
from irbench.worker.model_files import read_cost, read_formulas, read_value_shapes

if TYPE_CHECKING:
    from irbench.requests.graphs import StoredGraph


def cost_of(graph: StoredGraph, signature: Signature | None) -> ModelCost | None:
    """Return the cost at the sizes of the signature, else of one sample at the bundle's default sizes.

    ``None`` where a size has no default.

    Raises:
        IrbenchError: As :func:`cost_at` does.
    """
    if signature is None:
        return None
    sizes = {BATCH: 1, **(graph.bundle.defaults if graph.bundle is not None else {})}
    inputs = tuple(spec.bind(sizes) for spec in signature.inputs)
    if any(spec.dynamic_dimensions for spec in inputs):
        return None
    return cost_at(graph.path, inputs)


def cost_at(path: Path, inputs: Sequence[TensorSpec]) -> ModelCost:
    """Return the cost of an ONNX file for inputs of these shapes.

    Raises:
        IrbenchError: The file is damaged, ONNX cannot read it, or that takes too long.
    """
    return read_cost(path, inputs)


def formulas_at(graph: StoredGraph, inputs: Sequence[TensorSpec]) -> ModelFormulas | NoFormulas:
    """Return the cost as formulas in the dimensions that have no size; raises as :func:`cost_at` does."""
    return read_formulas(graph.path, inputs)


def values_of(graph: StoredGraph, inputs: Sequence[TensorSpec]) -> tuple[ValueShape, ...]:
    """Return the shapes of all values for inputs of these shapes; none where ONNX cannot infer them."""
    try:
        return read_value_shapes(graph.path, inputs)
    except IrbenchError:
        return ()
