"""To which class of work an executed operator belongs: that of the nodes which it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from irbench.onnx.operator_classes import OperatorClass, operator_class
from irbench.profiling.record import GraphNode, OperatorProfile

PRODUCTS = (OperatorClass.MATRIX, OperatorClass.RECURRENT)
"""An operator that computes such a node is one of them, whatever else was fused into it."""
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
