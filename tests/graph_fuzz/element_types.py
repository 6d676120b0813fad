"""Graphs whose floats have another type: in bf16, for which ONNX Runtime has no kernels on CPUs, and back in fp32."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_NAMING_A_TYPE = ("to", "dtype", "softmax_precision")
"""Attributes whose number is an element type."""
_LARGEST_BFLOAT16 = np.float32((2 - 2.0**-7) * 2.0**127)


def retype(model: onnx.ModelProto, source: int, target: int) -> None:
    """Give all tensors of one float type another, in the graph, its bodies and its functions; finite numbers stay so.

    What ONNX does not allow in the new type is not noticed here: check the model.
    """
    _retype_graph(model.graph, source, target)
    for function in model.functions:
        _retype_nodes(function.node, source, target)
        _retype_values(function.value_info, source, target)


def takes_bfloat16(content: bytes) -> bool:
    """Whether an input or output of a graph is bf16."""
    graph = onnx.load_from_string(content).graph
    return any(value.type.tensor_type.elem_type == TensorProto.BFLOAT16 for value in (*graph.input, *graph.output))


def widened(content: bytes) -> bytes | None:
    """Return a graph with fp32, which every runtime has kernels for, wherever it has bf16; ``None`` without any."""
    model, wide = onnx.load_from_string(content), onnx.load_from_string(content)
    retype(wide, TensorProto.BFLOAT16, TensorProto.FLOAT)
    return None if wide == model else wide.SerializeToString(deterministic=True)


def _retype_graph(graph: onnx.GraphProto, source: int, target: int) -> None:
    _retype_values((*graph.input, *graph.output, *graph.value_info), source, target)
    for tensor in graph.initializer:
        _retype_tensor(tensor, source, target)
    _retype_nodes(graph.node, source, target)


def _retype_nodes(nodes: Iterable[onnx.NodeProto], source: int, target: int) -> None:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _retype_tensor(attribute.t, source, target)
            elif attribute.type == onnx.AttributeProto.GRAPH:
                _retype_graph(attribute.g, source, target)
            elif attribute.name in _NAMING_A_TYPE and attribute.i == source:
                attribute.i = target


def _retype_values(values: Iterable[onnx.ValueInfoProto], source: int, target: int) -> None:
    for value in values:
        if value.type.tensor_type.elem_type == source:
            value.type.tensor_type.elem_type = target


def _retype_tensor(tensor: onnx.TensorProto, source: int, target: int) -> None:
    if tensor.data_type != source:
        return
    dtype = helper.tensor_dtype_to_np_dtype(target)
    wide = numpy_helper.to_array(tensor).astype(np.float32)
    bounded = np.where(np.isfinite(wide), np.clip(wide, -_LARGEST_BFLOAT16, _LARGEST_BFLOAT16), wide)
    tensor.CopyFrom(numpy_helper.from_array(bounded.astype(dtype), tensor.name))
