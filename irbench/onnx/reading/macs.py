"""How many multiply-accumulates a graph takes: counted from its shapes, node by node.

Only products and convolutions count, as in the tables of papers: biases, activations, normalisations and poolings are a
percent or so of a network's arithmetic, and nobody counts them alike.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irbench.onnx.reading.value_shapes import inferred_at
from irbench.onnx.reading.weightless import read_outline
from irbench.spec import TensorSpec

if TYPE_CHECKING:
    import onnx

__all__ = ["MacCount", "count_macs", "macs_of_file"]

_PRODUCT = re.compile("Conv|Einsum|Gemm|MatMul|Attention|LSTM|GRU|RNN")
_MAX_TRIPS = 2**31
"""A loop that is left by its condition alone has the largest integer for a trip count."""

_Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class MacCount:
    """What was counted.

    Attributes:
        macs: Multiply-accumulates of the nodes whose shapes are known.
        uncounted: Products and convolutions whose shapes are unknown, loops of unknown trip count, and products of
            vendors, by name.
    """

    macs: int = 0
    uncounted: tuple[str, ...] = ()

    def __add__(self, other: MacCount) -> MacCount:
        return MacCount(self.macs + other.macs, self.uncounted + other.uncounted)


def macs_of_file(path: Path, inputs: Sequence[TensorSpec]) -> MacCount:
    """Count those of an ONNX file, whose weights are not read; :func:`count_macs` says how.

    ONNX's own code reads what is in the file: call this in a worker where the file is of unknown origin.

    Raises:
        IrbenchError: The file is missing or not an ONNX model.
    """
    return count_macs(read_outline(path), inputs)


def count_macs(model: onnx.ModelProto, inputs: Sequence[TensorSpec]) -> MacCount:
    """Return how many multiply-accumulates one inference takes.

    The body of a loop counts as often as the trip count allows, of two branches the larger. An ``Einsum`` of
    two operands counts one for each combination of its indices.

    Args:
        model: Left as it is; large weights may lack their content.
        inputs: Its inputs with the sizes to count for.
    """
    return _of_graph(inferred_at(model, inputs).graph, _Scope({}, {}))


@dataclass(frozen=True)
class _Scope:
    """What is known where a node stands: full shapes and small integers, by the name of the tensor."""

    shapes: _Shapes
    integers: Mapping[str, int]

    def inside(self, graph: onnx.GraphProto) -> _Scope:
        shapes: dict[str, tuple[int, ...]] = {
            initializer.name: tuple(initializer.dims) for initializer in graph.initializer
        }
        for value in (*graph.input, *graph.output, *graph.value_info):
            dimensions = value.type.tensor_type.shape.dim
            if value.type.tensor_type.HasField("shape") and all(
                dimension.HasField("dim_value") for dimension in dimensions
            ):
                shapes.setdefault(value.name, tuple(dimension.dim_value for dimension in dimensions))
        integers = dict(_integers(graph))
        return _Scope(ChainMap(shapes, dict(self.shapes)), ChainMap(integers, dict(self.integers)))


def _integers(graph: onnx.GraphProto) -> Iterable[tuple[str, int]]:
    from onnx import TensorProto, numpy_helper

    constants = (
        (node.output[0], attribute.t)
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
    )
    for name, tensor in (*((initializer.name, initializer) for initializer in graph.initializer), *constants):
        if tensor.data_type == TensorProto.INT64 and prod(tensor.dims) == 1:
            yield name, int(numpy_helper.to_array(tensor).item())


def _of_graph(graph: onnx.GraphProto, outer: _Scope) -> MacCount:
    scope = outer.inside(graph)
    return sum((_of_node(node, scope) for node in graph.node), MacCount())


def _of_node(node: onnx.NodeProto, scope: _Scope) -> MacCount:
    name = node.name or f"{node.op_type} of {node.output[0]}"
    bodies = [_of_graph(attribute.g, scope) for attribute in node.attribute if attribute.HasField("g")]
    rule = None if node.domain else _RULES.get(node.op_type)
    try:
        if any(body != MacCount() for body in bodies):
            return _of_bodies(node, bodies, scope)
        if rule is not None:
            return MacCount(rule(node, scope.shapes))
    except LookupError:  # a shape or trip count that is unknown
        return MacCount(0, (name,))
    return MacCount(0, (name,) if _PRODUCT.search(node.op_type) else ())


def _of_bodies(node: onnx.NodeProto, bodies: Sequence[MacCount], scope: _Scope) -> MacCount:
    if node.op_type == "If":
        return MacCount(max(body.macs for body in bodies), tuple(name for body in bodies for name in body.uncounted))
    trips = _trip_count(node, scope)
    return MacCount(trips * bodies[0].macs, bodies[0].uncounted)


def _trip_count(node: onnx.NodeProto, scope: _Scope) -> int:
    if node.op_type == "Scan":
        axis, *_ = map(int, _attribute(node, "scan_input_axes", [0]))
        first = len(node.input) - int(_attribute(node, "num_scan_inputs", 1))
        return scope.shapes[node.input[first]][axis]
    trips = scope.integers[node.input[0]]
    if trips >= _MAX_TRIPS:
        raise LookupError
    return trips


def _attribute(node: onnx.NodeProto, name: str, default: Any) -> Any:
    from onnx import helper

    return next(
        (helper.get_attribute_value(attribute) for attribute in node.attribute if attribute.name == name), default
    )


def _convolution(node: onnx.NodeProto, shapes: _Shapes, weight: int = 1) -> int:
    return prod(shapes[node.output[0]]) * prod(shapes[node.input[weight]][1:])


def _transposed_convolution(node: onnx.NodeProto, shapes: _Shapes) -> int:
    return prod(shapes[node.input[0]]) * prod(shapes[node.input[1]][1:])


def _gemm(node: onnx.NodeProto, shapes: _Shapes) -> int:
    inner = 0 if _attribute(node, "transA", 0) else 1
    return prod(shapes[node.output[0]]) * shapes[node.input[0]][inner]


def _matmul(node: onnx.NodeProto, shapes: _Shapes) -> int:
    return prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]


def _einsum(node: onnx.NodeProto, shapes: _Shapes) -> int:
    terms = _attribute(node, "equation", b"").decode().replace(" ", "").partition("->")[0].split(",")
    if any("." in term for term in terms):
        raise LookupError
    operands = zip(terms, (shapes[name] for name in node.input), strict=True)
    sizes: dict[str, int] = {}
    for term, shape in operands:
        for index, size in zip(term, shape, strict=True):
            sizes[index] = max(size, sizes.get(index, size))  # an operand of size 1 is stretched
    return prod(sizes.values()) * (len(terms) - 1)


def _recurrence(node: onnx.NodeProto, shapes: _Shapes) -> int:
    """Return steps x batch x the weights of inputs and states, in every direction."""
    values, weights, recurrent = (shapes[name] for name in node.input[:3])
    return values[0] * values[1] * (prod(weights) + prod(recurrent))


def _attention(node: onnx.NodeProto, shapes: _Shapes) -> int:
    """Return the products of queries with keys, and of their scores with values, past ones included."""
    past = shapes[node.input[4]][-2] if len(node.input) > 4 and node.input[4] else 0
    length = shapes[node.input[1]][-2] + past
    return length * (prod(shapes[node.input[0]]) + prod(shapes[node.output[0]]))


def _quantised_convolution(node: onnx.NodeProto, shapes: _Shapes) -> int:
    return _convolution(node, shapes, weight=3)


_RULES: Mapping[str, Callable[[onnx.NodeProto, _Shapes], int]] = {
    "Attention": _attention,
    "Conv": _convolution,
    "ConvInteger": _convolution,
    "ConvTranspose": _transposed_convolution,
    "Einsum": _einsum,
    "GRU": _recurrence,
    "Gemm": _gemm,
    "LSTM": _recurrence,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearConv": _quantised_convolution,
    "QLinearMatMul": _matmul,
    "RNN": _recurrence,
}
