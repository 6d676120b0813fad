"""Give each layer a bias of its own.

A bias is quantised in the steps of its layer's input times those of its weights, so a bias that layers share needs a
copy for each. ONNX Runtime's tool makes them too, but appends a number to the name, which may be that of another value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in
from irbench.onnx.rewriting.unique_names import take_name

if TYPE_CHECKING:
    import onnx

__all__ = ["separate_biases"]

_BIAS = 2
_WITH_BIAS = frozenset({"Conv", "ConvTranspose", "Gemm"})


def separate_biases(model: onnx.ModelProto) -> None:
    """Copy each bias for every further layer that reads it, in place."""
    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    taken, seen = names_in(DetachedModel(model, {})), set[str]()
    for node in model.graph.node:
        if node.op_type not in _WITH_BIAS or len(node.input) <= _BIAS or node.input[_BIAS] not in constants:
            continue
        shared = constants[node.input[_BIAS]]
        if shared.name in seen:
            copy = model.graph.initializer.add()
            copy.CopyFrom(shared)
            copy.name = node.input[_BIAS] = take_name(f"{shared.name}_copy", taken)
        seen.add(shared.name)
