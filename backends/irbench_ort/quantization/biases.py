"""Give each layer a bias of its own, as a vector: ONNX Runtime's tool takes no other.

A bias is quantised in the steps of its layer's input times those of its weights, so a bias that layers share needs a
copy for each. The tool makes them too, but appends a number to the name, which may be that of another value. A bias of
``Gemm`` may have the shape (1, outputs) or hold a single number; the tool fails on both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, used_names
from irbench.onnx.rewriting.unique_names import take_name
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx

_WEIGHT, _BIAS = 1, 2
_WITH_BIAS = frozenset({"Conv", "ConvTranspose", "Gemm"})


def separate_biases(model: onnx.ModelProto) -> None:
    """Write a copy of each bias for every further layer that reads it, and of one that is no vector, in place."""
    from onnx import numpy_helper

    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    taken, seen = names_in(DetachedModel(model, {})), set[str]()
    for node in model.graph.node:
        if node.op_type not in _WITH_BIAS or len(node.input) <= _BIAS or node.input[_BIAS] not in constants:
            continue
        name = node.input[_BIAS]
        bias = numpy_helper.to_array(constants[name])
        vector = _as_vector(bias, node, constants) if node.op_type == "Gemm" else bias
        if name in seen or vector.shape != bias.shape:
            node.input[_BIAS] = take_name(f"{name}_copy", taken)
            model.graph.initializer.append(numpy_helper.from_array(vector, node.input[_BIAS]))
        seen.add(name)
    unread = seen.difference(used_names(model.graph))
    kept = [initializer for initializer in model.graph.initializer if initializer.name not in unread]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)


def _as_vector(bias: Array, node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> Array:
    """Return the bias of a ``Gemm`` with one number for each output; as it is where rows have biases of their own."""
    weight = constants.get(node.input[_WEIGHT])
    if weight is None or (bias.ndim == 2 and bias.shape[0] > 1):
        return bias
    is_transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    outputs = weight.dims[0 if is_transposed else 1]
    return np.ascontiguousarray(np.broadcast_to(bias.reshape(-1), (outputs,)))
