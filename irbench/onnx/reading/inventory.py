"""The nodes and weights of an ONNX file, read without loading the weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.onnx.reading.element_types import NAMES, bits_of, is_parameter_type
from irbench.onnx.reading.packed_weights import packs, unpacked_elements
from irbench.onnx.reading.protobuf import (
    Attribute,
    Field,
    GraphField,
    Malformed,
    Model,
    Node,
    Opset,
    Tensor,
    Value,
    fields,
    integers,
    mapped,
    text,
)


def node_label(name: str | bytes, op_type: str | bytes, outputs: Iterable[str | bytes]) -> str:
    """Return a node's name; operator and first output where it has none, as ``Relu of positive``."""
    output = next(iter(outputs), "") or "nothing"
    return decoded(name) or f"{decoded(op_type)} of {decoded(output)}"


def decoded(name: str | bytes) -> str:
    """Return a name; one that is not valid text comes as bytes."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name


_MOST_NODES = _MOST_WEIGHTS = 250_000
"""Several times as many as the largest models have whose layers are all written out; each takes a kilobyte here."""
_MAX_RANK = 32
_MOST_ELEMENTS = 1 << 63


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """One node.

    Attributes:
        name: Its name; empty where it has none.
        domain: The operator set it comes from; empty for ONNX's own.
        inner: Whether it lies in the body of another node or in a function.
        cast_to: The element type that a ``Cast`` gives; empty for other operators.
    """

    name: str
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    inner: bool = False
    cast_to: str = ""

    @property
    def operator(self) -> str:
        """The operator with its domain, as ``com.microsoft.Gelu``; the bare name for ONNX's own."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def label(self) -> str:
        """Its name; operator and first output where it has none, as ``Relu of positive``."""
        return node_label(self.name, self.op_type, self.outputs)


@dataclass(frozen=True, slots=True)
class WeightEntry:
    """One initialiser, or the value of a ``Constant`` node.

    Attributes:
        name: Its name; empty for a constant.
        external: Whether its values lie in a file of their own.
        unpacked: How many numbers it stands for where several are packed into an element; ``None`` elsewhere.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    external: bool = False
    unpacked: int | None = None

    @property
    def elements(self) -> int:
        """How many values it has."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """How many bytes its values take; 0 for strings, whose size depends on their content."""
        return (self.elements * bits_of(self.dtype) + 7) // 8

    @property
    def is_parameter(self) -> bool:
        """Whether it is one of the numbers that training would find, and not a size, an axis or a mask."""
        return is_parameter_type(self.dtype)

    @property
    def parameters(self) -> int:
        """How many such numbers it stands for."""
        return (self.elements if self.unpacked is None else self.unpacked) * self.is_parameter


@dataclass(frozen=True)
class Inventory:
    """An ONNX file's content, subgraphs and functions included.

    Attributes:
        producer: The tool that wrote it, with its version; empty where the file does not say.
        opsets: Version of each operator set, by domain; ONNX's own is called ``ai.onnx``.
        nodes: In the file's order, inner ones behind the node that holds them.
        others: Types of inputs and outputs, inner graphs' too, and those that casts give.
    """

    producer: str = ""
    ir_version: int = 0
    opsets: Mapping[str, int] = field(default_factory=dict[str, int])
    nodes: tuple[NodeEntry, ...] = ()
    weights: tuple[WeightEntry, ...] = ()
    others: frozenset[str] = frozenset()

    @property
    def operators(self) -> Mapping[str, int]:
        """How many nodes of each operator there are, the most frequent first, then by name."""
        counts = Counter(node.operator for node in self.nodes)
        return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))

    @property
    def parameters(self) -> int:
        """How many numbers there are that training would find, those that are packed into bytes included."""
        return sum(weight.parameters for weight in self.weights)

    @property
    def weights_bytes(self) -> Mapping[str, int]:
        """Bytes of the weights of each type, the largest first."""
        sizes: Counter[str] = Counter()
        for weight in self.weights:
            sizes[weight.dtype] += weight.size_bytes
        return dict(sizes.most_common())


def take_inventory(path: Path) -> Inventory:
    """Read what a model file holds."""
    with mapped(path) as data:
        walk = _InventoryWalk(data)
        try:
            walk.model()
        except RecursionError as error:
            raise Malformed from error
        except _TooMany as error:
            raise IrbenchError(
                f"{path} has more than {error.most:,} {error.what}.",
                hint="irbench reads no larger graph; a loop may say in one body what is written out here.",
            ) from error
        return Inventory(
            producer=" ".join(filter(None, walk.producer.values())),
            ir_version=walk.ir_version,
            opsets=walk.opsets,
            nodes=tuple(walk.nodes),
            weights=tuple(map(walk.unpacked, walk.weights)),
            others=frozenset(walk.others),
        )


def require_bounds(path: Path) -> None:
    """Refuse a file with more nodes, weights or axes than any model has, before others work on all of them."""
    take_inventory(path)


class _TooMany(Exception):
    def __init__(self, most: int, what: str) -> None:
        super().__init__(what)
        self.most, self.what = most, what


class _InventoryWalk:
    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.ir_version = 0
        self.producer = {Model.PRODUCER_NAME: "", Model.PRODUCER_VERSION: ""}
        self.opsets: dict[str, int] = {}
        self.nodes: list[NodeEntry] = []
        self.weights: list[WeightEntry] = []
        self.others: set[str] = set()
        self._packed: dict[str, tuple[str, int, Mapping[str, int]]] = {}  # the operator, the place, its attributes

    def unpacked(self, weight: WeightEntry) -> WeightEntry:
        if weight.name not in self._packed:
            return weight
        op_type, place, attributes = self._packed[weight.name]

        def attribute(name: str, default: int) -> int:
            return attributes.get(name, default)

        numbers = unpacked_elements(op_type, place, weight.dtype, weight.elements, attribute)
        return weight if numbers == weight.elements else replace(weight, unpacked=numbers)

    def model(self) -> None:
        for field_ in fields(self._data):
            if field_.number == Model.IR_VERSION:
                self.ir_version = field_.value
            elif field_.number in self.producer:
                self.producer[field_.number] = text(self._data, field_)
            elif field_.number == Model.OPSET_IMPORT:
                self._opset(field_)
            elif field_.number == Model.GRAPH:
                self._graph(field_, inner=False)
            elif field_.number == Model.FUNCTIONS:
                self._function(field_)

    def _opset(self, opset: Field) -> None:
        parts = {field_.number: field_ for field_ in self._inside(opset)}
        domain = text(self._data, parts[Opset.DOMAIN]) if Opset.DOMAIN in parts else ""
        self.opsets[domain or "ai.onnx"] = parts[Opset.VERSION].value if Opset.VERSION in parts else 0

    def _graph(self, graph: Field, *, inner: bool) -> None:
        for field_ in self._inside(graph):
            if field_.number == GraphField.INITIALIZER:
                self._tensor(field_)
            elif field_.number == GraphField.NODE:
                self._node(field_, inner=inner)
            elif field_.number in (GraphField.INPUT, GraphField.OUTPUT):
                self._value(field_)

    def _function(self, function: Field) -> None:
        for field_ in self._inside(function):
            if field_.number == Node.OF_FUNCTION:
                self._node(field_, inner=True)

    def _node(self, node: Field, *, inner: bool) -> None:
        texts: dict[int, list[str]] = {}
        attributes: list[Field] = []
        for field_ in self._inside(node):
            if field_.number == Node.ATTRIBUTE:
                attributes.append(field_)
            elif field_.number in (Node.INPUT, Node.OUTPUT, Node.NAME, Node.OP_TYPE, Node.DOMAIN):
                texts.setdefault(field_.number, []).append(text(self._data, field_))
        name, op_type, domain = ("".join(texts.get(key, [])[-1:]) for key in (Node.NAME, Node.OP_TYPE, Node.DOMAIN))
        inputs, outputs = (tuple(texts.get(key, ())) for key in (Node.INPUT, Node.OUTPUT))
        if not op_type:
            raise Malformed
        if len(self.nodes) == _MOST_NODES:
            raise _TooMany(_MOST_NODES, "nodes")
        domain = "" if domain == "ai.onnx" else domain
        to = dict(map(self._integer, attributes)).get("to", 0) if op_type == "Cast" else 0
        self.nodes.append(NodeEntry(name, op_type, domain, inputs, outputs, inner, NAMES.get(to, "")))
        for attribute in attributes:
            self._attribute(attribute, is_cast=op_type == "Cast")
        if packs(domain, op_type):
            numbers = dict(map(self._integer, attributes))
            self._packed |= {tensor: (op_type, place, numbers) for place, tensor in enumerate(inputs) if tensor}

    def _attribute(self, attribute: Field, *, is_cast: bool) -> None:
        name = ""
        for field_ in self._inside(attribute):
            if field_.number == Attribute.NAME:
                name = text(self._data, field_)
            elif is_cast and name == "to" and field_.number == Attribute.INTEGER:
                self.others.add(NAMES.get(field_.value, ""))
            elif field_.number in (Attribute.TENSOR, Attribute.TENSORS):
                self._tensor(field_)
            elif field_.number in (Attribute.GRAPH, Attribute.GRAPHS):
                self._graph(field_, inner=True)

    def _integer(self, attribute: Field) -> tuple[str, int]:
        """Return an attribute's name and the integer that it holds; 0 where it holds something else."""
        parts = {field_.number: field_ for field_ in self._inside(attribute)}
        name = text(self._data, parts[Attribute.NAME]) if Attribute.NAME in parts else ""
        return name, parts[Attribute.INTEGER].value if Attribute.INTEGER in parts else 0

    def _tensor(self, tensor: Field) -> None:
        sizes: list[int] = []
        name, element, external = "", 0, False
        for field_ in self._inside(tensor):
            if field_.number == Tensor.DIMS:
                sizes.extend(integers(self._data, field_))
            elif field_.number == Tensor.DATA_TYPE:
                element = field_.value
            elif field_.number == Tensor.NAME:
                name = text(self._data, field_)
            elif field_.number == Tensor.EXTERNAL_DATA:
                external = True
        if element not in NAMES or not _is_possible(sizes):
            raise Malformed
        if len(self.weights) == _MOST_WEIGHTS:
            raise _TooMany(_MOST_WEIGHTS, "weights")
        self.weights.append(WeightEntry(name, NAMES[element], tuple(sizes), external))

    def _value(self, value: Field) -> None:
        parts = [value]
        for number in (Value.TYPE, Value.TENSOR_OF_TYPE, Value.ELEMENT_OF_TENSOR):
            parts = [field_ for outer in parts for field_ in self._inside(outer) if field_.number == number]
        self.others.update(NAMES.get(part.value, "") for part in parts)

    def _inside(self, outer: Field) -> Iterator[Field]:
        return fields(self._data, outer.start, outer.end)


def _is_possible(sizes: list[int]) -> bool:
    return len(sizes) <= _MAX_RANK and max(sizes, default=0) < _MOST_ELEMENTS and math.prod(sizes) < _MOST_ELEMENTS
