"""Which operators of a profile are counted: those that take most of the time of their class, equal ones once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.onnx.operator_classes import OperatorClass
from irbench.profiling.classes import class_of_kind
from irbench.profiling.joining import JoinedCell, JoinedOperator

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
        operator_class: To which class of work they belong.
        time_ns: Of these operators, in all launches.
    """

    nodes: tuple[str, ...]
    operators: tuple[int, ...]
    operator_class: OperatorClass
    time_ns: int


@dataclass(frozen=True)
class OperatorKind:
    """Sets of nodes that do the same work: the same operators, attributes, types and shapes.

    Attributes:
        sets: The sets; the first one stands for all of them.
    """

    sets: tuple[NodeSet, ...]

    @property
    def operators(self) -> tuple[int, ...]:
        """Places of all their operators."""
        return tuple(place for found in self.sets for place in found.operators)

    @property
    def time_ns(self) -> int:
        """Time of all their operators, in all launches."""
        return sum(found.time_ns for found in self.sets)


def node_sets(joined: JoinedCell, kinds: Mapping[str, OperatorClass]) -> tuple[NodeSet, ...]:
    """Return the sets of nodes that the operators of a cell compute, disjoint ones, those first that take longest.

    Operators without nodes, which a runtime added or whose nodes are unknown, are in none; nor are those that compute
    more than the nodes that they are joined with, as a product does that is joined with its bias alone, or only a part
    of them, as the softmax of an attention does. Where two operators share some nodes but not all, the one that takes
    longer has them.

    Args:
        joined: The cell.
        kinds: The class of the runtime's own operator types, as far as it has a table of them.
    """
    operators: dict[tuple[str, ...], list[int]] = {}
    for place, operator in enumerate(joined.operators):
        computes_nodes = operator.nodes and not operator.is_part and not operator.profile.is_overhead
        if computes_nodes and _has_its_nodes(operator, kinds):
            operators.setdefault(tuple(node.name for node in operator.nodes), []).append(place)
    found = [_node_set(joined, nodes, places) for nodes, places in operators.items()]
    taken: set[str] = set()
    kept: list[NodeSet] = []
    for each in sorted(found, key=lambda each: -each.time_ns):
        if taken.isdisjoint(each.nodes):
            taken.update(each.nodes)
            kept.append(each)
    return tuple(kept)


def chosen_kinds(joined: JoinedCell, keys: Mapping[NodeSet, str]) -> tuple[OperatorKind, ...]:
    """Return the kinds of operators that are counted, the ones that take longest first.

    Of each class they are the ones with the most time, until these take :data:`SHARE` of it or are :data:`MOST_KINDS`.

    Args:
        joined: The cell.
        keys: By set of nodes, what is the same for sets that do the same work; sets that cannot be cut out of the graph
            are absent.
    """
    times: dict[OperatorClass, int] = {}
    for operator in joined.operators:
        times[operator.operator_class] = times.get(operator.operator_class, 0) + operator.total_ns
    least_ns = LEAST_CLASS_SHARE * sum(times.values())
    large = [found for found, time_ns in times.items() if time_ns >= least_ns]
    chosen = [kind for found in large for kind in _chosen_of_class(_kinds_of(found, keys), times[found])]
    return tuple(sorted(chosen, key=lambda kind: -kind.time_ns))


def _has_its_nodes(operator: JoinedOperator, kinds: Mapping[str, OperatorClass]) -> bool:
    """Whether a product, convolution or recurrence of the runtime is joined with one."""
    reported = class_of_kind(operator.profile.kind, kinds)
    return reported not in (OperatorClass.MATRIX, OperatorClass.RECURRENT) or reported is operator.operator_class


def _node_set(joined: JoinedCell, nodes: tuple[str, ...], places: Sequence[int]) -> NodeSet:
    operators = [joined.operators[place] for place in places]
    time_ns = sum(operator.total_ns for operator in operators)
    return NodeSet(nodes, tuple(places), operators[0].operator_class, time_ns)


def _kinds_of(wanted: OperatorClass, keys: Mapping[NodeSet, str]) -> list[OperatorKind]:
    kinds: dict[str, list[NodeSet]] = {}
    for found, key in keys.items():
        if found.operator_class is wanted:
            kinds.setdefault(key, []).append(found)
    made = [OperatorKind(tuple(sets)) for sets in kinds.values()]
    return sorted(made, key=lambda kind: -kind.time_ns)


def _chosen_of_class(kinds: Sequence[OperatorKind], class_ns: int) -> Iterator[OperatorKind]:
    counted_ns = 0
    for kind in kinds[:MOST_KINDS]:
        if counted_ns >= SHARE * class_ns or not kind.time_ns:
            return
        counted_ns += kind.time_ns
        yield kind
