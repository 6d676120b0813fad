"""Products that a runtime took apart: which of its operators computes them.

A runtime that makes a reshape, a product and another reshape of a ``MatMul`` and an ``Add`` keeps the name of the last
tensor alone, so the last reshape seems to compute all. So does the fusion behind a convolution whose name is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.classes import PRODUCTS, class_of_kind
from irbench.profiling.matching import Match
from irbench.profiling.record import GraphNode, OperatorProfile


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
