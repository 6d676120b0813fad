"""What precision an ONNX graph asks its runtime to compute in, told from the file alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.ir.wire import (
    Attribute,
    Field,
    Graph,
    Malformed,
    Model,
    Node,
    Tensor,
    Value,
    fields,
    integers,
    mapped,
    text,
)

__all__ = ["GraphPrecision", "read_precision"]

# TensorProto.DataType of the types a graph can compute in, narrowest first
_FLOATS = {17: "fp8", 18: "fp8", 19: "fp8", 20: "fp8", 16: "bf16", 10: "fp16", 1: "fp32", 11: "fp64"}
_NARROWEST_FIRST = ("fp8", "bf16", "fp16", "fp32", "fp64")

_INTEGER_OPS = {
    "ConvInteger",
    "DynamicQuantizeLSTM",
    "DynamicQuantizeMatMul",
    "MatMulInteger",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "QAttention",
    "QGemm",
    "QLinearConv",
    "QLinearMatMul",
}
_QUANTISED_OPS = {*_INTEGER_OPS, "DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"}


@dataclass(frozen=True)
class GraphPrecision:
    """The floating types a graph holds.

    Attributes:
        weights: Elements of its initialisers and constants by precision.
        others: Precisions of its inputs, outputs and casts.
        quantised: Whether it holds quantised integers.
        multiplies_integers: Whether operations on them do its arithmetic, instead of floating-point ones between
            quantisers.
    """

    weights: Mapping[str, int]
    others: frozenset[str]
    quantised: bool
    multiplies_integers: bool = False

    @property
    def narrowest(self) -> str:
        """The narrowest precision found anywhere: ``int8`` for a quantised graph, ``fp32`` where nothing floats."""
        if self.quantised:
            return "int8"
        found = self.others | self.weights.keys()
        return next((one for one in _NARROWEST_FIRST if one in found), "fp32")

    @property
    def dominant(self) -> str:
        """The precision most weights have; the narrowest found where there are no weights."""
        if self.quantised or not self.weights:
            return self.narrowest
        return max(self.weights, key=lambda one: self.weights[one])


def read_precision(path: Path) -> GraphPrecision:
    """Read what a model file's graph, its subgraphs and functions hold, without reading its weights.

    Raises:
        IrbenchError: The file is missing or not an ONNX model.
    """
    with mapped(path) as data:
        scan = _Scan(data)
        try:
            scan.model()
        except RecursionError as error:
            raise Malformed from error
        return GraphPrecision(dict(scan.weights), frozenset(scan.others), scan.quantised, scan.multiplies_integers)


class _Scan:
    """Collects types while it walks down."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.weights: Counter[str] = Counter()
        self.others: set[str] = set()
        self.quantised = False
        self.multiplies_integers = False

    def model(self) -> None:
        for field in fields(self._data):
            if field.number == Model.GRAPH:
                self.graph(field)
            elif field.number == Model.FUNCTIONS:
                self.function(field)

    def graph(self, graph: Field) -> None:
        for field in self._inside(graph):
            if field.number == Graph.INITIALIZER:
                self._tensor(field)
            elif field.number == Graph.NODE:
                self._node(field)
            elif field.number in (Graph.INPUT, Graph.OUTPUT):
                self._value(field)

    def function(self, function: Field) -> None:
        for field in self._inside(function):
            if field.number == Node.OF_FUNCTION:
                self._node(field)

    def _node(self, node: Field) -> None:
        op_type = ""
        attributes: list[Field] = []
        for field in self._inside(node):
            if field.number == Node.OP_TYPE:
                op_type = text(self._data, field)
            elif field.number == Node.ATTRIBUTE:
                attributes.append(field)
        self.quantised = self.quantised or op_type in _QUANTISED_OPS or op_type.startswith("QLinear")
        self.multiplies_integers = self.multiplies_integers or op_type in _INTEGER_OPS
        for attribute in attributes:
            self._attribute(attribute, is_cast=op_type == "Cast")

    def _attribute(self, attribute: Field, *, is_cast: bool) -> None:
        name = ""
        for field in self._inside(attribute):
            if field.number == Attribute.NAME:
                name = text(self._data, field)
            elif field.number in (Attribute.TENSOR, Attribute.TENSORS):
                self._tensor(field)
            elif field.number in (Attribute.GRAPH, Attribute.GRAPHS):
                self.graph(field)
            elif is_cast and name == "to" and field.number == Attribute.INTEGER:
                self._note(field.value)

    def _tensor(self, tensor: Field) -> None:
        dims: list[int] = []
        element = 0
        for field in self._inside(tensor):
            if field.number == Tensor.DATA_TYPE:
                element = field.value
            elif field.number == Tensor.DIMS:
                dims.extend(integers(self._data, field))
        if element in _FLOATS:
            self.weights[_FLOATS[element]] += math.prod(dims)

    def _value(self, value: Field) -> None:
        path = (Value.TYPE, Value.TENSOR_OF_TYPE, Value.ELEMENT_OF_TENSOR)
        found = [value]
        for number in path:
            found = [field for parent in found for field in self._inside(parent) if field.number == number]
        for element in found:
            self._note(element.value)

    def _note(self, element: int) -> None:
        if element in _FLOATS:
            self.others.add(_FLOATS[element])

    def _inside(self, field: Field) -> Iterator[Field]:
        return fields(self._data, field.start, field.end)
