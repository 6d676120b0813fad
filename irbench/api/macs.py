"""Count multiply-accumulates in a separate process, because ONNX's code parses the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.errors import IrbenchError
from irbench.onnx.reading.signature import Signature
from irbench.render.inspect import CountedMacs
from irbench.spec import BATCH
from irbench.worker import call_in_worker

if TYPE_CHECKING:
    from irbench.api.graphs import StoredGraph

__all__ = ["work_of"]

_DEADLINE_S = 60.0


def work_of(graph: StoredGraph, signature: Signature | None) -> CountedMacs | None:
    """Return the multiply-accumulates for one sample at the bundle's default sizes.

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
