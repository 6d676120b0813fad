"""The operators of a cell joined with the nodes of its graph: their class, their work, and what they are called."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from irbench.cost_model.counting import model_cost
from irbench.features.profile.profile_document import GraphNode, OperatorProfile, ProfiledCell, ProfileDocument
from irbench.onnx.operator_classes import PRODUCTS, OperatorClass, operator_class
from irbench.onnx.reading.counterparts import ContainedNodes
from irbench.onnx.reading.difference import name_stems
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import Inventory, NodeEntry, node_label, take_inventory
from irbench.onnx.reading.value_shapes import dtype_of, inferred_at, shape_of
from irbench.spec import TensorSpec
from irbench.spi.profiling import TensorShape

if TYPE_CHECKING:
    import onnx


_DOMAINS = ("", "com.microsoft")
ORIGINAL = "none"
"""Key of the graph as it was exported, of which all other graphs were made."""
_MADE_BY_CONVERTER = "__"
"""What tf2onnx puts behind the name of an operator of TensorFlow, before a number, where one becomes several nodes."""
MOST_PAIRS = 2_000_000
"""Equal pairs of elements, beyond which the search would take seconds: sequences of so much sameness prove nothing."""
MatchedBy: TypeAlias = Literal["name", "tensor", "position", "signature", "inserted", "overhead", "unmatched"]
"""How the nodes of an operator were found; by ``position``, those of the operator behind it. An ``inserted`` operator
moves data and computes no node: the runtime added it. Of ``unmatched`` ones it is unknown what they compute."""


def class_of(
    operator: OperatorProfile, nodes: Sequence[GraphNode], kinds: Mapping[str, OperatorClass]
) -> OperatorClass:
    """Return the class of an executed operator."""
    if operator.is_overhead:
        return OperatorClass.OVERHEAD
    return main_node(nodes).operator_class if nodes else class_of_kind(operator.kind, kinds)


def class_of_kind(kind: str, kinds: Mapping[str, OperatorClass]) -> OperatorClass:
    """Return the class that a runtime's operator type tells: by the runtime's own table, else as ONNX calls it."""
    if kind in kinds:
        return kinds[kind]
    known = (operator_class(domain, kind) for domain in _DOMAINS)
    return next((each for each in known if each is not OperatorClass.OTHER), OperatorClass.OTHER)


def main_node(nodes: Sequence[GraphNode]) -> GraphNode:
    """Return the node that a fused operator is named after: of the class with the most work, that with the most.

    Products and recurrent layers come before all others. Where no work is known, data movement comes last.
    """
    work = Counter[OperatorClass]()
    for node in nodes:
        work[node.operator_class] += node.flops or 0

    def rank(node: GraphNode) -> tuple[bool, int, bool, int]:
        own = node.operator_class
        return own in PRODUCTS, work[own], own is not OperatorClass.MOVEMENT, node.flops or 0

    return max(nodes, key=rank)


@dataclass(frozen=True)
class Match:
    """The nodes of an operator.

    Attributes:
        nodes: Their places in the graph, ascending.
    """

    nodes: tuple[int, ...]
    matched_by: MatchedBy


def match_operators(
    operators: Sequence[OperatorProfile], nodes: Sequence[GraphNode], kinds: Mapping[str, OperatorClass]
) -> tuple[Match, ...]:
    """Return the nodes of each operator, in the order of the operators.

    Names come first, then those of output tensors. The operators that are left are aligned with the nodes that are
    left by class and output shape, in the order of execution, between those that names have joined.
    """
    names = _Names(nodes, {name for operator in operators for name in operator.nodes}, kinds)
    named = [names.match(operator) for operator in operators]
    signed = _by_signature(operators, named, nodes, kinds)
    return tuple(
        match or signed.get(place) or _without_nodes(operator, kinds)
        for place, (operator, match) in enumerate(zip(operators, named, strict=True))
    )


_Find: TypeAlias = Callable[[str], tuple[int, ...]]


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
        """Return the nodes that an operator names; ``None`` where it names no node of the graph."""
        if operator.is_overhead:
            return Match((), "overhead")
        reported = operator.nodes or (operator.name,)
        match = self._named(reported, self._node, "name") or self._named(reported, self._tensor, "tensor")
        return match if match is None or operator.nodes or self._is_credible(operator, match) else None

    def _is_credible(self, operator: OperatorProfile, match: Match) -> bool:
        """Whether an operator that tells no nodes computes those of its own name.

        Nobody else claims them, and their class is that of its kind, as far as that is known: where an exporter folded
        an addition into a convolution, the convolution has the addition's name.
        """
        nodes = [self._nodes[place] for place in match.nodes]
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
    named: Sequence[Match | None],
    nodes: Sequence[GraphNode],
    kinds: Mapping[str, OperatorClass],
) -> dict[int, Match]:
    """Return matches of operators by their places; those that names have joined hold the alignment in place."""
    left = [
        _signature(class_of_kind(operator.kind, kinds), operator.kind, operator.shapes) if match is None else None
        for operator, match in zip(operators, named, strict=True)
    ]
    joined = {node for match in named if match is not None for node in match.nodes}
    right = [
        None if place in joined else _signature(node.operator_class, node.op_type, node.shapes)
        for place, node in enumerate(nodes)
    ]
    anchors = {match.nodes[0]: place for place, match in enumerate(named) if match is not None and match.nodes}
    for node, place in anchors.items():
        left[place] = right[node] = ("joined", node)
    return {at: Match((place,), "signature") for at, place in aligned(left, right) if named[at] is None}


def _signature(own_class: OperatorClass, op_type: str, shapes: Sequence[TensorShape]) -> Hashable | None:
    """Return what an operator and the node that it computes have in common; ``None`` where too little is known.

    Sizes are sorted and those of 1 left out: runtimes order axes as they like. What moves data must be of the same
    type: a runtime's own reorder is not a node of the graph.
    """
    if own_class is OperatorClass.OTHER or not shapes or shapes[0].shape is None:
        return None
    kind = op_type.lower() if own_class is OperatorClass.MOVEMENT else own_class
    return kind, tuple(sorted(size for size in shapes[0].shape if size != 1))


@dataclass(frozen=True, slots=True)
class _Link:
    left: int
    right: int
    before: _Link | None


def aligned(left: Sequence[Hashable | None], right: Sequence[Hashable | None]) -> tuple[tuple[int, int], ...]:
    """Return the places of a longest common subsequence, in order; none where nearly all elements are the same.

    ``None`` is equal to nothing.
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
    pairs: list[tuple[int, int]] = []
    last = links[-1] if links else None
    while last is not None:
        pairs.append((last.left, last.right))
        last = last.before
    return tuple(reversed(pairs))


def with_products(
    operators: Sequence[OperatorProfile],
    matches: Sequence[Match],
    nodes: Sequence[GraphNode],
    kinds: Mapping[str, OperatorClass],
) -> tuple[Match, ...]:
    """Return matches in which products are computed by operators that are products.

    Nodes of products, recurrences included, that only an operator of another kind claims go to the last operators
    before it that are products and have no nodes, in order. An operator that only moves data gives all nodes away.
    """
    shared = list(matches)
    computed = {
        node
        for operator, match in zip(operators, matches, strict=True)
        if class_of_kind(operator.kind, kinds) in PRODUCTS
        for node in match.nodes
    }
    waiting: list[int] = []
    for place, (operator, match) in enumerate(zip(operators, matches, strict=True)):
        kind = class_of_kind(operator.kind, kinds)
        if match.matched_by == "unmatched" and kind in PRODUCTS:
            waiting.append(place)
            continue
        products = [node for node in match.nodes if nodes[node].operator_class in PRODUCTS and node not in computed]
        if not products or kind in (*PRODUCTS, OperatorClass.OTHER):
            continue
        takers = waiting[-len(products) :]
        if takers:
            waiting = waiting[: -len(takers)]
            handed = match.nodes if kind is OperatorClass.MOVEMENT else tuple(products)
            _hand_over(shared, place, takers, handed)
    return tuple(shared)


def _hand_over(matches: list[Match], giver: int, takers: Sequence[int], handed: Sequence[int]) -> None:
    """Share nodes out among operators, one to each, and the rest to the last."""
    left = tuple(node for node in matches[giver].nodes if node not in handed)
    matches[giver] = Match(left, matches[giver].matched_by if left else "inserted")
    for number, taker in enumerate(takers):
        own = handed[number:] if taker == takers[-1] else handed[number : number + 1]
        matches[taker] = Match(tuple(own), "position")


@dataclass(frozen=True)
class JoinedOperator:
    """An executed operator and the nodes that it computes.

    Attributes:
        nodes: Those nodes, of the graph that its backend runs.
        exported: The nodes of the exported graph that these stand for, as far as they are known, else these.
        original: Names of the nodes of the exported graph that these stand for.
        matched_by: How its nodes were found, or why there are none.
        flops: Floating-point operations of its nodes; ``None`` where none is known. A node that several operators
            compute counts for the one that takes longest.
        moved_bytes: Bytes that these nodes read and write, each by itself; ``None`` where those of some are unknown.
        is_part: Whether it computes only a part of a product that another operator computes, such as its bias: then it
            is of the class of its own kind.
    """

    profile: OperatorProfile
    nodes: tuple[GraphNode, ...]
    exported: tuple[GraphNode, ...]
    original: tuple[str, ...]
    operator_class: OperatorClass
    matched_by: MatchedBy
    flops: int | None
    is_part: bool = False
    moved_bytes: int | None = None

    @property
    def op_types(self) -> tuple[str, ...]:
        """Types of its nodes, each once; its own type where it computes no node, or a part of one."""
        if not self.nodes or self.is_part:
            return (self.profile.kind,)
        return tuple(dict.fromkeys(node.op_type for node in self.nodes))

    @property
    def computed_types(self) -> tuple[str, ...]:
        """Those types in alphabetical order, without what only moves data beside others: it is fused anywhere."""
        return _computed_types(self.nodes) if self.nodes and not self.is_part else self.op_types

    @property
    def compared_types(self) -> tuple[str, ...]:
        """The types by which it is a row beside other backends and levels: of a product or recurrence, that alone.

        They are those of the exported nodes, unless a product is among these that is not its own work. Some
        backends fuse much into products and others little, so that all of their types are seldom equal.
        """
        if not self.nodes or self.is_part:
            return self.op_types
        is_product = self.operator_class in PRODUCTS
        main = main_node(self.exported)
        if is_product != (main.operator_class in PRODUCTS):
            return self.computed_types
        return (main.op_type,) if is_product else _computed_types(self.exported)

    @property
    def has_known_work(self) -> bool:
        """Whether the operations of some of its nodes are known, though they may count for another operator."""
        return not self.is_part and any(node.flops is not None for node in self.nodes)

    @property
    def total_ns(self) -> int:
        """Its time in all launches."""
        return sum(self.profile.duration_ns)


@dataclass(frozen=True)
class JoinedCell:
    """A cell with its operators."""

    cell: ProfiledCell
    operators: tuple[JoinedOperator, ...]

    @cached_property
    def sums_ns(self) -> tuple[int, ...]:
        """The time of all operators in each launch."""
        return self.times_ns(self.operators)

    def times_ns(self, operators: Sequence[JoinedOperator]) -> tuple[int, ...]:
        """Return the time of some of its operators in each launch."""
        launches = range(len(self.cell.launches))
        return tuple(sum(operator.profile.duration_ns[launch] for operator in operators) for launch in launches)


def joined_cells(document: ProfileDocument) -> tuple[JoinedCell, ...]:
    """Return the cells of a profile with their operators joined, in the document's order."""
    return tuple(_joined(cell, document) for cell in document.cells)


def _computed_types(nodes: Sequence[GraphNode]) -> tuple[str, ...]:
    computing = [node for node in nodes if node.operator_class is not OperatorClass.MOVEMENT]
    return tuple(sorted({node.op_type for node in computing or nodes}))


def _joined(cell: ProfiledCell, document: ProfileDocument) -> JoinedCell:
    nodes = document.graphs.get(cell.graph, ())
    kinds = document.kinds.get(cell.backend, {})
    exported = {node.name: node for node in document.graphs.get(ORIGINAL, ())}
    matches = with_products(cell.operators, match_operators(cell.operators, nodes, kinds), nodes, kinds)
    owners = _owners(cell.operators, matches)
    own = [[node for node in match.nodes if owners[node] == place] for place, match in enumerate(matches)]
    joined = zip(cell.operators, matches, own, strict=True)
    return JoinedCell(cell, tuple(_operator(*each, nodes, exported, kinds) for each in joined))


def _owners(operators: Sequence[OperatorProfile], matches: Sequence[Match]) -> dict[int, int]:
    """Return which operator each node's work counts for."""
    owners: dict[int, int] = {}
    for place, match in enumerate(matches):
        for node in match.nodes:
            known = owners.get(node)
            if known is None or sum(operators[known].duration_ns) < sum(operators[place].duration_ns):
                owners[node] = place
    return owners


def _operator(
    profile: OperatorProfile,
    match: Match,
    owned: Sequence[int],
    nodes: Sequence[GraphNode],
    exported: Mapping[str, GraphNode],
    kinds: Mapping[str, OperatorClass],
) -> JoinedOperator:
    computed = tuple(nodes[place] for place in match.nodes)
    names = {name: None for node in computed for name in node.original or (node.name,)}
    known = [flops for place in owned if (flops := nodes[place].flops) is not None]
    moved = [nodes[place].moved_bytes for place in owned]
    is_part = bool(computed) and not owned and _is_beside_product(profile, computed, kinds)
    return JoinedOperator(
        profile=profile,
        nodes=computed,
        exported=tuple(exported[name] for name in names if name in exported) or computed,
        original=tuple(names),
        operator_class=class_of(profile, () if is_part else computed, kinds),
        matched_by=match.matched_by,
        flops=sum(known) if known else None,
        is_part=is_part,
        moved_bytes=sum_of_known(moved),
    )


def sum_of_known(values: Sequence[int | None]) -> int | None:
    """Return the sum; ``None`` where a value is unknown, and of none."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _is_beside_product(
    profile: OperatorProfile, nodes: Sequence[GraphNode], kinds: Mapping[str, OperatorClass]
) -> bool:
    """Whether an operator whose node is a product is of another kind."""
    kind = class_of_kind(profile.kind, kinds)
    is_known = kind not in (OperatorClass.MATRIX, OperatorClass.OTHER)
    return is_known and main_node(nodes).operator_class is OperatorClass.MATRIX


def origins(optimized: Inventory, exported: Inventory) -> Mapping[str, tuple[str, ...]]:
    """Return, by the name of each node of an optimised graph, the exported nodes that it stands for.

    A node of the same name stands for itself. Besides, a node stands for what lies, in the exported graph, between its
    outputs and those of the nodes before it. Tensors are the same if they have the same name, or one to which something
    was added, as passes do that write ``scores_reshape`` in the place of ``scores``. A node for which nothing is left
    belongs to those that took it. Nodes that stand for nothing are left out.
    """
    labels = {node.label for node in exported.nodes}
    kept = {node.label for node in optimized.nodes if node.label in labels}
    graph = ContainedNodes(exported.nodes, (weight.name for weight in exported.weights), kept)
    claims: dict[str, tuple[str, ...]] = {}
    for node in optimized.nodes:
        tensors = tuple(_known(node, graph))
        claimed = graph.claim(tensors, node.label) or _taken(node, graph, tensors, kept)
        if claimed:
            claims[node.label] = claimed
    return claims


def _taken(node: NodeEntry, graph: ContainedNodes, tensors: Collection[str], kept: Collection[str]) -> tuple[str, ...]:
    """Return the makers of a node's tensors, which another node has claimed already."""
    if node.label in kept:
        return (node.label,)
    return tuple(maker.label for tensor in tensors if (maker := graph.maker(tensor)) is not None)


def _known(node: NodeEntry, graph: ContainedNodes) -> Iterator[str]:
    """Yield the tensors of the exported graph that a node's outputs are, or are named after."""
    for output in node.outputs:
        names = (name for name in (output, *name_stems(output)) if graph.maker(name) is not None)
        yield from list(names)[:1]


def read_graph(path: Path, inputs: Sequence[TensorSpec], exported: Path | None = None) -> tuple[GraphNode, ...]:
    """Return the nodes of an ONNX file in topological order, those of bodies behind the node that has them.

    ONNX's own code reads what is in the file: call this in a worker.
    """
    outline = read_outline(path)
    costs = {node.name: node for node in model_cost(outline, inputs).nodes}
    stands_for = {} if exported is None else origins(take_inventory(path), take_inventory(exported))
    graph_nodes: dict[str, GraphNode] = {}
    for node in _nodes(inferred_at(outline, inputs).graph, {}):
        cost, original = costs.get(node.name), stands_for.get(node.name, ())
        flops, moved = (None, None) if cost is None else (cost.flops, cost.moved_bytes)
        graph_nodes.setdefault(node.name, replace(node, flops=flops, moved_bytes=moved, original=original))
    return tuple(graph_nodes.values())


def _nodes(graph: onnx.GraphProto, outer: dict[str, TensorShape]) -> Iterator[GraphNode]:
    shapes = {**outer, **{value.name: _shape(value) for value in (*graph.input, *graph.value_info, *graph.output)}}
    for node in graph.node:
        yield GraphNode(
            name=node_label(node.name, node.op_type, node.output),
            op_type=node.op_type,
            domain=node.domain,
            operator_class=operator_class(node.domain, node.op_type),
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            shapes=tuple(shapes[name] for name in node.output if name in shapes),
        )
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs) if attribute.HasField("g") or attribute.graphs else ():
                yield from _nodes(body, shapes)


def _shape(value: onnx.ValueInfoProto) -> TensorShape:
    shape = shape_of(value) if value.type.tensor_type.HasField("shape") else ("?",)
    known = tuple(size for size in shape if isinstance(size, int))
    return TensorShape(dtype_of(value), known if len(known) == len(shape) else None)
