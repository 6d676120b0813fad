"""Which sets of nodes of a graph do the same work: the same operators, attributes, types and shapes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import node_label
from irbench.onnx.reading.value_shapes import inferred_at
from irbench.spec import TensorSpec

if TYPE_CHECKING:
    import onnx

_Described: TypeAlias = tuple[object, ...]
_CONTENT = ("INT32", "INT64", "BOOL")
"""Element types of constants that say what is to be done, axes and sizes for example; others are only multiplied."""
_TELLING_INPUTS = {"Pow": 1}
"""By operator, the place of the input whose values say what is to be done, of whatever type: a square is no root."""


@dataclass(frozen=True)
class PlacedNodes:
    """A set of nodes of the main graph of a file.

    Attributes:
        places: Of the nodes in the graph, ascending.
        key: The same for sets that do the same work.
    """

    places: tuple[int, ...]
    key: str


def placed_nodes(
    path: Path, inputs: Sequence[TensorSpec], sets: Sequence[Sequence[str]]
) -> tuple[PlacedNodes | None, ...]:
    """Return where sets of nodes are in the graph of a file, and which do the same work.

    ONNX's own code reads what is in the file: call this in a worker.

    Args:
        path: The file; its large weights are not read.
        inputs: Its inputs with bound sizes.
        sets: Names of nodes, as :func:`irbench.profiling.graph_reading.read_graph` has them.

    Returns:
        Each set; ``None`` for one with nodes that are not in the main graph, but in a body of a node or in a function,
        or that have bodies, whose nodes may be operators of their own.

    Raises:
        IrbenchError: The file is missing or not an ONNX model.
    """
    outline = read_outline(path)
    described = _Descriptions(outline.graph, inferred_at(outline, inputs).graph)
    places: dict[str, int] = {}
    for place, node in enumerate(outline.graph.node):
        if not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            places.setdefault(node_label(node.name, node.op_type, node.output), place)
    return tuple(_placed(names, places, described) for names in sets)


def _placed(names: Sequence[str], places: Mapping[str, int], described: _Descriptions) -> PlacedNodes | None:
    found = tuple(sorted({places[name] for name in names if name in places}))
    return PlacedNodes(found, described.key(found)) if len(found) == len(set(names)) else None


class _Descriptions:
    """Describes nodes without the names of their tensors."""

    def __init__(self, graph: onnx.GraphProto, inferred: onnx.GraphProto) -> None:
        self._nodes = graph.node
        values = (*inferred.input, *inferred.value_info, *inferred.output)
        self._types = {value.name: value.type.SerializeToString(deterministic=True) for value in values}
        self._shaped = {value.name for value in values if _is_fixed(value)}
        self._weights = {tensor.name: tensor for tensor in graph.initializer}
        self._weights |= dict(_constants(graph.node))

    def key(self, places: Sequence[int]) -> str:
        """Return what is the same for sets of nodes that do the same work."""
        numbers: dict[str, int] = {}
        inner = {name for place in places for name in self._nodes[place].output}
        found = [self._node(self._nodes[place], numbers, inner) for place in places]
        return hashlib.sha256(repr(found).encode()).hexdigest()

    def _node(self, node: onnx.NodeProto, numbers: dict[str, int], inner: set[str]) -> _Described:
        attributes = sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute)
        telling = _TELLING_INPUTS.get(node.op_type)
        read = [self._tensor(name, numbers, inner, tells=place == telling) for place, name in enumerate(node.input)]
        made = [self._tensor(name, numbers, inner) for name in node.output]
        return (node.domain, node.op_type), tuple(attributes), tuple(read), tuple(made)

    def _tensor(self, name: str, numbers: dict[str, int], inner: set[str], *, tells: bool = False) -> _Described:
        """Describe a tensor; the same one has the same number everywhere in a set, as in a product with itself.

        Args:
            name: Its name.
            numbers: Those of the tensors that were described before.
            inner: Tensors that the set itself computes.
            tells: Whether its values say what is to be done.
        """
        if not name:
            return ("none",)
        number = numbers.setdefault(name, len(numbers))
        if name in self._weights and name not in inner:
            return ("weight", number, *_content(self._weights[name], tells=tells))
        if name not in self._shaped:  # nobody knows whether it is equal to another one
            return ("unknown", number, name)
        return ("value", number, self._types[name])


def _is_fixed(value: onnx.ValueInfoProto) -> bool:
    held = value.type.tensor_type
    return held.HasField("shape") and all(size.HasField("dim_value") for size in held.shape.dim)


def _content(tensor: onnx.TensorProto, *, tells: bool) -> _Described:
    from onnx import TensorProto

    keeps_values = tells or TensorProto.DataType.Name(tensor.data_type) in _CONTENT
    stored = (tensor.int64_data, tensor.int32_data, tensor.float_data, tensor.double_data)
    data = (tensor.raw_data, *map(tuple, stored)) if keeps_values else ()
    return (tensor.data_type, tuple(tensor.dims), data)


def _constants(nodes: Sequence[onnx.NodeProto]) -> Iterator[tuple[str, onnx.TensorProto]]:
    for node in nodes:
        tensors = [attribute.t for attribute in node.attribute if attribute.HasField("t")]
        if node.op_type == "Constant" and tensors and node.output:
            yield node.output[0], tensors[0]
