"""An ONNX model with its weights stored separately, so that passes over the graph do not copy them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irbench.onnx.reading.external_data import graphs_in
from irbench.onnx.reading.protobuf import GraphField, Model, encode_length_delimited
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx


def take_name(preferred: str, taken: set[str]) -> str:
    """Return a name that is not taken, ``preferred`` or with a number behind it, and take it."""
    name, count = preferred, 0
    while name in taken:
        count += 1
        name = f"{preferred}{count}"
    taken.add(name)
    return name


_SMALL_BYTES = 1024
_ALIGNED_BYTES = 4096
"""External data starts at a page, so that a runtime can map it."""
_RAW_DATA_FIELD = 9
MAX_BYTES = 2**31 - 1
"""Protobuf's own limit for one message."""


@dataclass
class DetachedModel:
    """A model taken apart.

    Attributes:
        model: The model without any initializer at its top level.
    """

    model: onnx.ModelProto
    weights: dict[str, Array]


def detach(model: onnx.ModelProto, weights: dict[str, Array]) -> DetachedModel:
    """Take every initializer out of ``model``, in place."""
    from onnx import numpy_helper

    graph = model.graph
    values = {**weights, **{initializer.name: numpy_helper.to_array(initializer) for initializer in graph.initializer}}
    inputs = [tensor for tensor in graph.input if tensor.name not in values]
    del graph.initializer[:]
    del graph.input[:]
    graph.input.extend(inputs)
    del graph.value_info[:]  # shapes of tensors that passes rename or remove would be stale
    return DetachedModel(model, values)


def skeleton(detached: DetachedModel) -> onnx.ModelProto:
    """Return a small valid model: small weights (shapes, axes) as initializers, large ones as graph inputs."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.ModelProto()
    model.CopyFrom(detached.model)
    for name, value in detached.weights.items():
        if value.nbytes <= _SMALL_BYTES:
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        else:
            dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
            model.graph.input.append(helper.make_tensor_value_info(name, dtype, value.shape))
    return model


def write(detached: DetachedModel, path: Path) -> str:
    """Write the whole model to ``path`` and return the SHA-256 of that file.

    Weights go to the file one by one: the model is never in memory a second time. Where one protobuf message cannot
    hold them, all but the small ones go to a file beside it, ``<name>.data``, as the standard's external data.
    """
    graph = detached.model.graph.SerializeToString()
    within = {name: _inline_header(name, value) for name, value in detached.weights.items()}
    beside: dict[str, bytes] = {}
    if len(graph) + sum(len(within[name]) + detached.weights[name].nbytes for name in within) > MAX_BYTES:
        beside = _write_beside(detached, path.with_name(f"{path.name}.data"))
        within = {name: header for name, header in within.items() if name not in beside}
    size = len(graph) + sum(map(len, beside.values()))
    size += sum(len(header) + detached.weights[name].nbytes for name, header in within.items())
    digest = hashlib.sha256()
    with path.open("wb") as file:
        start = (_frame(detached), encode_length_delimited(Model.GRAPH, size), graph)
        for piece in (*start, *beside.values(), *_weight_pieces(detached, within)):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


def _frame(detached: DetachedModel) -> bytes:
    import onnx

    frame = onnx.ModelProto()
    frame.CopyFrom(detached.model)
    frame.ClearField("graph")
    described: bytes = frame.SerializeToString()
    return described


def _write_beside(detached: DetachedModel, path: Path) -> dict[str, bytes]:
    """Write the large weights to a file of their own; return the initializer that points there, by name."""
    pointers: dict[str, bytes] = {}
    with path.open("wb") as file:
        for name, value in detached.weights.items():
            if value.nbytes > _SMALL_BYTES:
                file.seek(-(-file.tell() // _ALIGNED_BYTES) * _ALIGNED_BYTES)
                pointers[name] = _pointer(name, value, path.name, file.tell())
                file.write(_bytes_of(value))
    return pointers


def _pointer(name: str, value: Array, location: str, offset: int) -> bytes:
    from onnx import TensorProto

    tensor = _described(name, value)
    tensor.data_location = TensorProto.EXTERNAL
    for key, content in (("location", location), ("offset", str(offset)), ("length", str(value.nbytes))):
        tensor.external_data.add(key=key, value=content)
    described: bytes = tensor.SerializeToString()
    return encode_length_delimited(GraphField.INITIALIZER, len(described)) + described


def opset_of(model: onnx.ModelProto) -> int:
    """Return the version of ONNX's own operator set that the model uses."""
    return max((int(opset.version) for opset in model.opset_import if opset.domain in ("", "ai.onnx")), default=1)


def nodes_of(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield every node of a model: of its graph, of graphs inside nodes, and of functions."""
    waiting = [model.graph.node, *(function.node for function in model.functions)]
    while waiting:
        for node in waiting.pop():
            yield node
            waiting += [inner.node for attribute in node.attribute for inner in graphs_in(attribute)]


def used_names(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield every name that a node of ``graph`` or of a graph inside it reads, and every output."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in graphs_in(attribute):
                yield from used_names(inner)
    yield from (tensor.name for tensor in graph.output)


def names_in(detached: DetachedModel) -> set[str]:
    """Return the names of all values of a model, those of graphs inside its graph included."""
    return {*detached.weights, *_defined_names(detached.model.graph)}


def _defined_names(graph: onnx.GraphProto) -> Iterator[str]:
    yield from (tensor.name for tensor in (*graph.input, *graph.initializer))
    for node in graph.node:
        yield from node.output
        for attribute in node.attribute:
            for inner in graphs_in(attribute):
                yield from _defined_names(inner)


def _weight_pieces(detached: DetachedModel, headers: dict[str, bytes]) -> Iterator[bytes | memoryview]:
    for name, header in headers.items():
        yield header
        yield _bytes_of(detached.weights[name])


def _bytes_of(value: Array) -> bytes | memoryview:
    return np.asarray(value, order="C").reshape(-1).view(np.uint8).data if value.nbytes else b""


def _inline_header(name: str, value: Array) -> bytes:
    described: bytes = _described(name, value).SerializeToString()
    described += encode_length_delimited(_RAW_DATA_FIELD, value.nbytes)
    return encode_length_delimited(GraphField.INITIALIZER, len(described) + value.nbytes) + described


def _described(name: str, value: Array) -> onnx.TensorProto:
    import onnx

    dtype = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    return onnx.TensorProto(name=name, data_type=dtype, dims=value.shape)
