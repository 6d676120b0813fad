"""Which operators of a profile are counted: those that take most of the time of their class, equal ones once."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from irbench.features.profile.joining import JoinedCell, JoinedOperator, class_of_kind
from irbench.onnx.operator_classes import OperatorClass
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
"""By operator, the place of the input whose values say what is to be done, of any type: a square is not a root."""


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

    A set is ``None`` if some of its nodes are not in the main graph, but in a body of a node or in a function, or have
    bodies themselves, whose nodes may be operators of their own. ONNX's own code reads what is in the file: call this
    in a worker.
    """
    outline = read_outline(path)
    described = _Descriptions(outline.graph, inferred_at(outline, inputs).graph)
    places: dict[str, int] = {}
    for place, node in enumerate(outline.graph.node):
        if not any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            places.setdefault(node_label(node.name, node.op_type, node.output), place)
    return tuple(_placed(names, places, described) for names in sets)


def _placed(names: Sequence[str], places: Mapping[str, int], described: _Descriptions) -> PlacedNodes | None:
    own = tuple(sorted({places[name] for name in names if name in places}))
    return PlacedNodes(own, described.key(own)) if len(own) == len(set(names)) else None


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
        described = [self._node(self._nodes[place], numbers, inner) for place in places]
        return hashlib.sha256(repr(described).encode()).hexdigest()

    def _node(self, node: onnx.NodeProto, numbers: dict[str, int], inner: set[str]) -> _Described:
        attributes = sorted(attribute.SerializeToString(deterministic=True) for attribute in node.attribute)
        telling = _TELLING_INPUTS.get(node.op_type)
        read = [self._tensor(name, numbers, inner, tells=place == telling) for place, name in enumerate(node.input)]
        outputs = [self._tensor(name, numbers, inner) for name in node.output]
        return (node.domain, node.op_type), tuple(attributes), tuple(read), tuple(outputs)

    def _tensor(self, name: str, numbers: dict[str, int], inner: set[str], *, tells: bool = False) -> _Described:
        """Describe a tensor; the same one has the same number everywhere in a set, as in a product with itself."""
        if not name:
            return ("none",)
        number = numbers.setdefault(name, len(numbers))
        if name in self._weights and name not in inner:
            return ("weight", number, *_content(self._weights[name], tells=tells))
        if name not in self._shaped:  # nobody knows whether it is equal to another one
            return ("unknown", number, name)
        return ("value", number, self._types[name])


def _is_fixed(value: onnx.ValueInfoProto) -> bool:
    tensor_type = value.type.tensor_type
    return tensor_type.HasField("shape") and all(size.HasField("dim_value") for size in tensor_type.shape.dim)


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


SHARE = 0.8
"""Of the time of a class, how much is to be counted."""
MOST_KINDS = 4
"""The most kinds of operators of a class that are counted, even if they take less than that."""
LEAST_CLASS_SHARE = 0.01
"""Of the time of all operators, what a class takes at least to be counted."""


@dataclass(frozen=True)
class NodeSet:
    """Nodes that a backend computes together.

    Attributes:
        nodes: Their names, of the graph that the backend runs.
        operators: Places of the operators that compute them, usually one.
        time_ns: Of these operators, in all launches.
    """

    nodes: tuple[str, ...]
    operators: tuple[int, ...]
    operator_class: OperatorClass
    time_ns: int


@dataclass(frozen=True)
class OperatorKind:
    """Sets of nodes that do the same work; the first one stands for all of them."""

    sets: tuple[NodeSet, ...]

    @property
    def operators(self) -> tuple[int, ...]:
        """Places of all their operators."""
        return tuple(place for nodes in self.sets for place in nodes.operators)

    @property
    def time_ns(self) -> int:
        """Time of all their operators, in all launches."""
        return sum(nodes.time_ns for nodes in self.sets)


def node_sets(joined: JoinedCell, kinds: Mapping[str, OperatorClass]) -> tuple[NodeSet, ...]:
    """Return the sets of nodes that the operators of a cell compute, disjoint ones, those first that take longest.

    Operators without nodes, which a runtime added or whose nodes are unknown, are in none; nor are those that compute
    more than the nodes that they are joined with, as a product does that is joined with its bias alone, or only a part
    of them, as the softmax of an attention does. Where two operators share some nodes but not all, the one that takes
    longer has them.
    """
    operators: dict[tuple[str, ...], list[int]] = {}
    for place, operator in enumerate(joined.operators):
        computes_nodes = operator.nodes and not operator.is_part and not operator.profile.is_overhead
        if computes_nodes and _has_its_nodes(operator, kinds):
            operators.setdefault(tuple(node.name for node in operator.nodes), []).append(place)
    sets = [_node_set(joined, nodes, places) for nodes, places in operators.items()]
    taken: set[str] = set()
    kept: list[NodeSet] = []
    for each in sorted(sets, key=lambda each: -each.time_ns):
        if taken.isdisjoint(each.nodes):
            taken.update(each.nodes)
            kept.append(each)
    return tuple(kept)


def chosen_kinds(joined: JoinedCell, keys: Mapping[NodeSet, str]) -> tuple[OperatorKind, ...]:
    """Return the kinds of operators that are counted, the ones that take longest first.

    Of each class they are the ones with the most time, until these take :data:`SHARE` of it or are :data:`MOST_KINDS`.
    """
    times = Counter[OperatorClass]()
    for operator in joined.operators:
        times[operator.operator_class] += operator.total_ns
    large = [each for each, time_ns in times.items() if time_ns >= LEAST_CLASS_SHARE * times.total()]
    chosen = [kind for each in large for kind in _chosen_of_class(_kinds_of(each, keys), times[each])]
    return tuple(sorted(chosen, key=lambda kind: -kind.time_ns))


def _has_its_nodes(operator: JoinedOperator, kinds: Mapping[str, OperatorClass]) -> bool:
    """Whether a product, convolution or recurrence of the runtime is joined with one."""
    reported = class_of_kind(operator.profile.kind, kinds)
    return reported not in (OperatorClass.MATRIX, OperatorClass.RECURRENT) or reported is operator.operator_class


def _node_set(joined: JoinedCell, nodes: tuple[str, ...], places: Sequence[int]) -> NodeSet:
    operators = [joined.operators[place] for place in places]
    time_ns = sum(operator.total_ns for operator in operators)
    return NodeSet(nodes, tuple(places), operators[0].operator_class, time_ns)


def _kinds_of(operator_class: OperatorClass, keys: Mapping[NodeSet, str]) -> list[OperatorKind]:
    kinds = defaultdict[str, list[NodeSet]](list)
    for nodes, key in keys.items():
        if nodes.operator_class is operator_class:
            kinds[key].append(nodes)
    return sorted((OperatorKind(tuple(sets)) for sets in kinds.values()), key=lambda kind: -kind.time_ns)


def _chosen_of_class(kinds: Sequence[OperatorKind], class_ns: int) -> Iterator[OperatorKind]:
    counted_ns = 0
    for kind in kinds[:MOST_KINDS]:
        if counted_ns >= SHARE * class_ns or not kind.time_ns:
            return
        counted_ns += kind.time_ns
        yield kind
