"""Count multiply-accumulates and infer shapes in a separate process, because ONNX's code parses the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.onnx.reading.signature import Signature
from irbench.onnx.reading.value_shapes import ValueShape
from irbench.render.inspect import CountedMacs
from irbench.spec import BATCH, TensorSpec
from irbench.worker import call_in_worker

if TYPE_CHECKING:
    from irbench.api.graphs import StoredGraph

__all__ = ["values_of", "work_of"]

_DEADLINE_S = 60.0


def work_of(graph: StoredGraph, signature: Signature | None) -> CountedMacs | None:
    """Return the multiply-accumulates at the sizes of the signature, else for one sample at the bundle's default sizes.

    ``None`` where a size has no default, and where ONNX cannot infer shapes: the graph is described all the same.
    """
    if signature is None:
        return None
    sizes = {BATCH: 1, **(graph.bundle.defaults if graph.bundle is not None else {})}
    inputs = tuple(spec.bind(sizes) for spec in signature.inputs)
    if any(spec.dynamic_dimensions for spec in inputs):
        return None
    try:
        return CountedMacs(
            call_in_worker("irbench.onnx.reading.macs:macs_of_file", graph.path, inputs, deadline_s=_DEADLINE_S), inputs
        )
    except IrbenchError:
        return None


def values_of(graph: StoredGraph, inputs: Sequence[TensorSpec]) -> tuple[ValueShape, ...]:
    """Return the shapes of all values for inputs of these shapes; none where ONNX cannot infer them."""
    target = "irbench.onnx.reading.value_shapes:shapes_of_file"
    try:
        found: tuple[ValueShape, ...] = call_in_worker(target, graph.path, tuple(inputs), deadline_s=_DEADLINE_S)
    except IrbenchError:
        return ()
    return found
