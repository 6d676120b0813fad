"""Decoders whose caches are states of OpenVINO: variables that a request keeps from call to call.

1. Parameter and Result of a cache -> ReadValue and Assign
2. Concat(ReadValue, new) that ScaledDotProductAttention reads, for several heads each as well
   -> Concat(Gather(ReadValue, 0 .. batch), new)

The second is how its CPU plugin recognises attention that appends to a state in place. The order of the samples, which
a search with beams would change, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irbench.spec import BATCH, Io, Scalar
from irbench.spec.generation import GenerationGraph, cache_shape
from irbench.spi import DecoderSlot
from irbench_openvino.session import CopySlot, OpenVinoSession


def keep_caches(model: Any, graph: GenerationGraph) -> None:
    """Make the caches of a model states of it, in place, which are empty at first."""
    from openvino import opset13 as operators
    from openvino.passes import MakeStateful, Manager

    names = [(cache.input.name, cache.output.name) for cache in graph.caches]
    tokens = model.input(graph.tokens.name)
    zero = operators.constant(np.array(0, np.int64))
    batch = operators.gather(operators.shape_of(tokens, "i64"), operators.constant(np.array([0], np.int64)), zero)
    manager = Manager()
    manager.register_pass(MakeStateful(dict(names)))
    manager.run_passes(model)
    states = {node.get_variable_id(): node for node in model.get_ops() if node.get_type_name() == "ReadValue"}
    for cache, name in zip(graph.caches, names, strict=True):
        state = states["".join(name)]
        spec = cache.input
        sizes = [
            batch if size == BATCH else operators.constant(np.array([known], np.int64))
            for size, known in zip(spec.shape, cache_shape(spec, cache.axis, 1), strict=True)
        ]
        empty = operators.constant(np.zeros((), state.get_output_element_type(0).to_dtype()))
        state.set_arguments([operators.broadcast(empty, operators.concat(sizes, 0)).output(0)])
    one, samples = operators.constant(np.array(1, np.int64)), operators.squeeze(batch, zero)
    order = operators.convert(operators.range(zero, samples, one, "i64"), "i32")
    for node in model.get_ops():
        if node.get_type_name() == "ScaledDotProductAttention":
            for place in (1, 2):
                _append_in_place(node.input_value(place), order)
    model.validate_nodes_and_infer_types()


_REPEATING = ("Reshape", "Tile", "Broadcast", "Unsqueeze")


def _append_in_place(value: Any, order: Any) -> None:
    """Apply the second rule to what an attention reads."""
    from openvino import opset13 as operators

    node = value.get_node()
    if node.get_type_name() == "Tile":  # of which the plugin knows another form
        repeated = operators.broadcast(node.input_value(0), node.input_value(1), broadcast_spec="BIDIRECTIONAL")
        for reader in value.get_target_inputs():
            reader.replace_source_output(repeated.output(0))
    if node.get_type_name() in _REPEATING:
        _append_in_place(node.input_value(0), order)
    elif node.get_type_name() == "Concat" and node.input_value(0).get_node().get_type_name() == "ReadValue":
        first = operators.constant(np.array(0, np.int64))
        node.input(0).replace_source_output(operators.gather(node.input_value(0), order, first).output(0))


_IN_PLACE = "ScaledDotProductAttention"


class OpenVinoDecoderSession(OpenVinoSession):
    """One compiled model with states; each slot is a request, which has its own."""

    def __init__(self, compiled: Any, graph: GenerationGraph, effective: Mapping[str, Scalar]) -> None:
        kinds = [node.get_rt_info()["layerType"].astype(str) for node in compiled.get_runtime_model().get_ops()]
        kept = {"cache": "in place" if _IN_PLACE in kinds else "copied"}
        super().__init__(compiled, graph.without_caches.artifact, {**effective, **kept})

    def open_slots(self, count: int, io: Io) -> Sequence[DecoderSlot]:  # noqa: ARG002 - states are always bound
        """Return slots with empty caches."""
        requests = [self._create_request() for _ in range(count)]
        return [_OpenVinoDecoderSlot(request, self._inputs, self._outputs, self._watch) for request in requests]


class _OpenVinoDecoderSlot(CopySlot):
    @property
    def cache_bytes(self) -> int:
        return sum(state.state.byte_size for state in self._request.query_state())

    def begin(self, _batch: int, _capacity: int) -> None:
        """Empty the caches; the plugin makes room by itself."""
        self._request.reset_state()
