"""The operators of a cell joined with the nodes of its graph: their class, their work, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from irbench.features.profile.matching import Match, MatchedBy, class_of, class_of_kind, main_node, match_operators
from irbench.features.profile.record import GraphNode, OperatorProfile, ProfiledCell, ProfileDocument
from irbench.onnx.operator_classes import PRODUCTS, OperatorClass


def with_products(
    operators: Sequence[OperatorProfile],
    matches: Sequence[Match],
    nodes: Sequence[GraphNode],
    kinds: Mapping[str, OperatorClass],
) -> tuple[Match, ...]:
    """Return matches in which products are computed by operators that are products.

    Nodes of products, recurrences included, that only an operator of another kind claims go to the last operators
    before it that are products and have no nodes, in order. An operator that only moves data gives all of its nodes
    away.

    Args:
        operators: In the order in which they are executed.
        matches: Theirs.
        nodes: Of the graph.
        kinds: The class of operators by the runtime's own operator type.
    """
    found = list(matches)
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
            given = match.nodes if kind is OperatorClass.MOVEMENT else tuple(products)
            _hand_over(found, place, takers, given)
    return tuple(found)


def _hand_over(found: list[Match], giver: int, takers: Sequence[int], given: Sequence[int]) -> None:
    """Share nodes out among operators, one to each, and the rest to the last."""
    left = tuple(node for node in found[giver].nodes if node not in given)
    found[giver] = Match(left, found[giver].matched_by if left else "inserted")
    for number, taker in enumerate(takers):
        own = given[number:] if taker == takers[-1] else given[number : number + 1]
        found[taker] = Match(tuple(own), "position")


ORIGINAL = "none"
"""Key of the graph as it was exported, of which all other graphs were made."""


@dataclass(frozen=True)
class JoinedOperator:
    """An executed operator and the nodes that it computes.

    Attributes:
        profile: What was recorded of it.
        nodes: Those nodes, of the graph that its backend runs.
        exported: The nodes of the exported graph that these stand for, as far as they are known, else these.
        original: Names of the nodes of the exported graph that these stand for.
        operator_class: To which class of work it belongs.
        matched_by: How its nodes were found, or why there are none.
        flops: Floating-point operations of its nodes; ``None`` where none is known. A node that several operators
            compute counts for the one that takes longest.
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

        They are those of the exported nodes, unless a product is among these that is none of its own work. Some
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
    found = zip(cell.operators, matches, own, strict=True)
    return JoinedCell(cell, tuple(_operator(*each, nodes, exported, kinds) for each in found))


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
    )


def _is_beside_product(
    profile: OperatorProfile, nodes: Sequence[GraphNode], kinds: Mapping[str, OperatorClass]
) -> bool:
    """Whether an operator whose node is a product is of another kind."""
    kind = class_of_kind(profile.kind, kinds)
    is_known = kind not in (OperatorClass.MATRIX, OperatorClass.OTHER)
    return is_known and main_node(nodes).operator_class is OperatorClass.MATRIX
