"""Lift large weights out of a frozen graph, so that no pass over the graph ever copies them.

tf2onnx copies the weights of every constant several times in every optimiser pass: about
forty times in all. A weight that is a graph input instead has a shape but no content; it
comes back as an initializer once the graph has its final form.
"""

from __future__ import annotations

from typing import Any

from irbench.spi import Array
from irbench_tf.consumers import consumers_by_name

_MIN_BYTES = 16 * 1024
"""Smaller constants stay: folding needs their values, and copying them costs nothing."""

_COMPLEX = (8, 18)
"""TensorFlow's numbers of complex64 and complex128: constants of these become two real ones."""

_PASSES_ON = frozenset({"Identity", "Reshape", "Transpose"})
"""Operations that only rearrange a weight; its real consumers stand behind them."""

_TAKES_INPUT = frozenset(
    {
        "AddV2",
        "BatchMatMulV2",
        "BatchMatMulV3",
        "BiasAdd",
        "Conv2D",
        "Conv3D",
        "DepthwiseConv2dNative",
        "GatherV2",
        "MatMul",
        "Mul",
        "Shape",
    }
)
"""Operations that tf2onnx converts alike whether their weight is known or not; recurrent loops are not among them."""


def hoist_weights(graph: Any) -> dict[str, Array]:
    """Turn large weights of ``graph`` into placeholders, in place.

    Args:
        graph: A frozen ``GraphDef`` without cycles at its top level.

    Returns:
        The weights by tensor name, ``node:0``.
    """
    from tensorflow.python.framework import tensor_util

    consumers = consumers_by_name(graph)
    weights: dict[str, Array] = {}
    for node in graph.node:
        tensor = node.attr["value"].tensor if node.op == "Const" else None
        if tensor is None or tensor.dtype in _COMPLEX or len(tensor.tensor_content) < _MIN_BYTES:
            continue
        if _may_be_input(node.name, consumers):
            weights[f"{node.name}:0"] = tensor_util.MakeNdarray(tensor)
            _become_placeholder(node)
    return weights


def hoist_constants(graph: Any) -> dict[str, Array]:
    """Do the same, in place, in a ``tf2onnx.graph.Graph`` for what its rewriters had to see, such as recurrent kernels.

    Returns:
        The weights by the names of the new inputs.
    """
    weights: dict[str, Array] = {}
    for node in list(graph.get_nodes()):
        value = node.get_tensor_value(as_list=False) if node.is_const() else None
        if value is None or value.nbytes < _MIN_BYTES:
            continue
        (output,), shapes, dtypes = node.output, node.output_shapes, node.output_dtypes
        weights[output] = value
        graph.remove_node(node.name)
        graph.make_node("Placeholder", [], outputs=[output], name=node.name, shapes=shapes, dtypes=dtypes)
    return weights


def _may_be_input(name: str, consumers: dict[str, list[Any]]) -> bool:
    return all(
        _may_be_input(user.name, consumers) if user.op in _PASSES_ON else user.op in _TAKES_INPUT
        for user in consumers.get(name, ())
    )


def _become_placeholder(node: Any) -> None:
    import tensorflow as tf

    placeholder = tf.compat.v1.NodeDef(name=node.name, op="Placeholder")
    placeholder.attr["dtype"].type = node.attr["dtype"].type
    placeholder.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
    node.CopyFrom(placeholder)
