"""Which nodes of a graph each executed operator computes: by name, by tensor, or by signature along the graph."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.features.profile.record import GraphNode, OperatorProfile
from irbench.onnx.operator_classes import PRODUCTS, OperatorClass, operator_class
from irbench.spi.profiling import TensorShape

_DOMAINS = ("", "com.microsoft")


def class_of(
    operator: OperatorProfile, nodes: Sequence[GraphNode], kinds: Mapping[str, OperatorClass]
) -> OperatorClass:
    """Return the class of an executed operator.

    Args:
        operator: It.
        nodes: Those that it computes; none where that is unknown, or where the runtime inserted it.
        kinds: The class of operators that compute no node, by the runtime's own operator type.
    """
    if operator.is_overhead:
        return OperatorClass.OVERHEAD
    return main_node(nodes).operator_class if nodes else class_of_kind(operator.kind, kinds)


def class_of_kind(kind: str, kinds: Mapping[str, OperatorClass]) -> OperatorClass:
    """Return the class that a runtime's operator type tells: by the runtime's own table, else as ONNX calls it."""
    if kind in kinds:
        return kinds[kind]
    known = (operator_class(domain, kind) for domain in _DOMAINS)
    return next((found for found in known if found is not OperatorClass.OTHER), OperatorClass.OTHER)


def main_node(nodes: Sequence[GraphNode]) -> GraphNode:
    """Return the node that a fused operator is named after: of the class with the most work, that with the most.

    Matrix products, convolutions and recurrent layers come before all others. Where no work is known, data movement
    comes last.

    Args:
        nodes: At least one.
    """
    work = Counter[OperatorClass]()
    for node in nodes:
        work[node.operator_class] += node.flops or 0

    def rank(node: GraphNode) -> tuple[bool, int, bool, int]:
        found = node.operator_class
        return found in PRODUCTS, work[found], found is not OperatorClass.MOVEMENT, node.flops or 0

    return max(nodes, key=rank)


MatchedBy: TypeAlias = Literal["name", "tensor", "position", "signature", "inserted", "overhead", "unmatched"]
"""How the nodes of an operator were found; by ``position``, those of the operator behind it. An ``inserted`` operator
moves data and computes no node: the runtime added it. Of ``unmatched`` ones it is unknown what they compute."""
MATCHED_TEXTS: Mapping[MatchedBy, str] = {
    "name": "joined with nodes by name",
    "tensor": "joined by the names of tensors",
    "position": "matched to nodes by the order of execution, because the runtime does not name them",
    "signature": "joined by class and shape along the graph",
    "inserted": "in data movement that the runtime added",
    "overhead": "the runtime's own work",
    "unmatched": "in operators whose nodes are unknown",
}

_Find: TypeAlias = Callable[[str], tuple[int, ...]]
_MADE_BY_CONVERTER = "__"
"""What tf2onnx puts behind the name of an operator of TensorFlow, before a number, where one becomes several nodes."""

MOST_PAIRS = 2_000_000
"""Equal pairs of elements, beyond which the search would take seconds: sequences of so much sameness prove nothing."""


@dataclass(frozen=True)
class Match:
    """The nodes of an operator.

    Attributes:
        nodes: Their places in the graph, ascending.
        matched_by: How they were found, or why there are none.
    """

    nodes: tuple[int, ...]
    matched_by: MatchedBy


def match_operators(
    operators: Sequence[OperatorProfile], nodes: Sequence[GraphNode], kinds: Mapping[str, OperatorClass]
) -> tuple[Match, ...]:
    """Return the nodes of each operator, in the order of the operators.

    Names come first, then those of output tensors. The operators that are left are aligned with the nodes that are
    left by class and output shape, in the order of execution, between those that names have joined.

    Args:
        operators: In the order in which they are executed.
        nodes: Of the graph, in topological order.
        kinds: The class of operators that compute no node, by the runtime's own operator type.
    """
    names = _Names(nodes, {name for operator in operators for name in operator.nodes}, kinds)
    found = [names.match(operator) for operator in operators]
    signed = _by_signature(operators, found, nodes, kinds)
    return tuple(
        match or signed.get(place) or _without_nodes(operator, kinds)
        for place, (operator, match) in enumerate(zip(operators, found, strict=True))
    )


class _Names:
    """What nodes are found by."""

    def __init__(
        self, nodes: Sequence[GraphNode], reported: Collection[str], kinds: Mapping[str, OperatorClass]
    ) -> None:
        self._nodes = nodes
        self._reported = reported
        self._kinds = kinds
        self._by_name = {node.name: (place,) for place, node in enumerate(nodes)}
        self._by_tensor = {tensor: (place,) for place, node in enumerate(nodes) for tensor in node.outputs if tensor}
        self._by_stem: dict[str, tuple[int, ...]] = defaultdict(tuple)
        for place, node in enumerate(nodes):
            self._by_stem[node.name.partition(_MADE_BY_CONVERTER)[0]] += (place,)

    def match(self, operator: OperatorProfile) -> Match | None:
        """Return the nodes that an operator names; ``None`` where it names none of the graph."""
        if operator.is_overhead:
            return Match((), "overhead")
        reported = operator.nodes or (operator.name,)
        found = self._named(reported, self._node, "name") or self._named(reported, self._tensor, "tensor")
        return found if found is None or operator.nodes or self._is_credible(operator, found) else None

    def _is_credible(self, operator: OperatorProfile, found: Match) -> bool:
        """Whether an operator that tells no nodes computes those of its own name.

        Nobody else claims them, and their class is that of its kind, as far as that is known: where an exporter folded
        an addition into a convolution, the convolution has the addition's name.
        """
        nodes = [self._nodes[place] for place in found.nodes]
        kind = class_of_kind(operator.kind, self._kinds)
        fits = kind is OperatorClass.OTHER or kind in {node.operator_class for node in nodes}
        return fits and all(node.name not in self._reported for node in nodes)

    def _named(self, reported: Iterable[str], find: _Find, matched_by: MatchedBy) -> Match | None:
        places = sorted({place for name in reported for place in find(name)})
        return Match(tuple(places), matched_by) if places else None

    def _node(self, name: str) -> tuple[int, ...]:
        return self._by_name.get(name) or self._by_stem.get(name, ())

    def _tensor(self, name: str) -> tuple[int, ...]:
        return self._by_tensor.get(name) or self._by_tensor.get(f"{name}:0") or ()


def _without_nodes(operator: OperatorProfile, kinds: Mapping[str, OperatorClass]) -> Match:
    moves = not operator.nodes and class_of_kind(operator.kind, kinds) is OperatorClass.MOVEMENT
    return Match((), "inserted" if moves else "unmatched")


def _by_signature(
    operators: Sequence[OperatorProfile],
    found: Sequence[Match | None],
    nodes: Sequence[GraphNode],
    kinds: Mapping[str, OperatorClass],
) -> dict[int, Match]:
    """Return matches of operators by their places; those that names have joined hold the alignment in place."""
    taken = {node: place for place, match in enumerate(found) if match is not None for node in match.nodes[:1]}
    joined = {node for match in found if match is not None for node in match.nodes}
    anchors = {place: node for node, place in taken.items()}
    left: list[Hashable | None] = [
        ("joined", anchors[place]) if place in anchors else None if match is not None else _of_operator(operator, kinds)
        for place, (operator, match) in enumerate(zip(operators, found, strict=True))
    ]
    right: list[Hashable | None] = [
        ("joined", place) if place in taken else None if place in joined else _of_node(node)
        for place, node in enumerate(nodes)
    ]
    return {at: Match((place,), "signature") for at, place in aligned(left, right) if found[at] is None}


def _of_operator(operator: OperatorProfile, kinds: Mapping[str, OperatorClass]) -> Hashable | None:
    return _signature(class_of_kind(operator.kind, kinds), operator.kind, operator.shapes)


def _of_node(node: GraphNode) -> Hashable | None:
    return _signature(node.operator_class, node.op_type, node.shapes)


def _signature(found: OperatorClass, op_type: str, shapes: Sequence[TensorShape]) -> Hashable | None:
    """Return what an operator and the node that it computes have in common; ``None`` where too little is known.

    Sizes are sorted and those of 1 left out: runtimes order axes as they like. What moves data must be of the same
    type: a runtime's own reorder is no node.
    """
    if found is OperatorClass.OTHER or not shapes or shapes[0].shape is None:
        return None
    kind = op_type.lower() if found is OperatorClass.MOVEMENT else found
    return kind, tuple(sorted(size for size in shapes[0].shape if size != 1))


@dataclass(frozen=True, slots=True)
class _Link:
    left: int
    right: int
    before: _Link | None


def aligned(left: Sequence[Hashable | None], right: Sequence[Hashable | None]) -> tuple[tuple[int, int], ...]:
    """Return the places of a longest common subsequence, in order; none where nearly all elements are the same.

    Args:
        left: One sequence; ``None`` is equal to nothing.
        right: The other.
    """
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, element in enumerate(right):
        if element is not None:
            places[element].append(place)
    if sum(len(places[element]) for element in left if element in places) > MOST_PAIRS:
        return ()
    ends: list[int] = []
    links: list[_Link] = []
    for at, element in enumerate(left):
        for place in reversed(places.get(element, ()) if element is not None else ()):
            length = bisect_left(ends, place)
            link = _Link(at, place, links[length - 1] if length else None)
            if length == len(ends):
                ends.append(place)
                links.append(link)
            elif place < ends[length]:
                ends[length], links[length] = place, link
    return _pairs(links[-1] if links else None)


def _pairs(link: _Link | None) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    while link is not None:
        found.append((link.left, link.right))
        link = link.before
    return tuple(reversed(found))
