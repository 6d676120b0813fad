"""Give each LSTM weights of its own: ONNX Runtime's tool changes the shape of those it quantises in place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, used_names
from irbench.onnx.rewriting.unique_names import take_name

if TYPE_CHECKING:
    import onnx

_WEIGHTS = (1, 2)


def separate_recurrent_weights(model: onnx.ModelProto) -> None:
    """Write a copy of weights for each LSTM of the main graph that shares them with another reader, in place."""
    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    taken, readers = names_in(DetachedModel(model, {})), Counter(used_names(model.graph))
    for node in model.graph.node:
        for place in _WEIGHTS if (node.domain, node.op_type) == ("", "LSTM") else ():
            name = node.input[place]
            if name not in constants or readers[name] == 1:
                continue
            copy = model.graph.initializer.add()
            copy.CopyFrom(constants[name])
            copy.name = node.input[place] = take_name(f"{name}_copy", taken)
            readers[name] -= 1
