"""How two graphs differ: what was added, removed, changed and fused on the way from one to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from irbench.ir.inventory import Inventory, NodeEntry

__all__ = ["Difference", "Fusion", "difference"]


@dataclass(frozen=True)
class Fusion:
    """Several nodes that one node took the place of.

    Attributes:
        into: The operator of the new node.
        of: How many nodes of each operator it replaces, sorted by operator.
    """

    into: str
    of: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Difference:
    """What has become of a graph.

    Attributes:
        operators: Number of nodes before and after, for each operator of which there are more or fewer.
        added: Nodes that only the second graph has.
        removed: Nodes that only the first one has.
        changed: Nodes of the same name and another operator, before and after.
        fusions: How often each kind of fusion happened, the most frequent first.
    """

    operators: Mapping[str, tuple[int, int]]
    added: tuple[NodeEntry, ...]
    removed: tuple[NodeEntry, ...]
    changed: tuple[tuple[NodeEntry, NodeEntry], ...]
    fusions: Mapping[Fusion, int]


def difference(before: Inventory, after: Inventory) -> Difference:
    """Return what was done to ``before`` to make ``after``.

    Nodes are the same when they have the same name, or, where tools rename nodes, the same operator and outputs. A
    fusion is found by walking, in the first graph, from the outputs of a new node back to its inputs, so it is seen
    where the tool kept the names of the tensors between which it worked.
    """
    named = {node.name: node for node in before.nodes if node.name}
    twins = [(named[node.name], node) for node in after.nodes if node.name in named]
    met_before, met_after = {id(one) for one, _ in twins}, {id(one) for _, one in twins}
    made = {(node.operator, node.outputs): node for node in before.nodes if id(node) not in met_before}
    added = [node for node in after.nodes if id(node) not in met_after and (node.operator, node.outputs) not in made]
    kept = {(node.operator, node.outputs) for node in after.nodes if id(node) not in met_after}
    removed = [node for key, node in made.items() if key not in kept]
    changed = [(one, other) for one, other in twins if one.operator != other.operator]
    gone = [*removed, *(one for one, _ in changed)]
    new = [*added, *(other for _, other in changed)]
    return Difference(
        operators=_counts(before.operators, after.operators),
        added=tuple(added),
        removed=tuple(removed),
        changed=tuple(changed),
        fusions=dict(Counter(_fusions(gone, new, _tensors(after))).most_common()),
    )


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys((*before, *after))
    counts = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: both for name, both in counts.items() if both[0] != both[1]}


def _tensors(graph: Inventory) -> frozenset[str]:
    return frozenset(name for node in graph.nodes for name in node.outputs)


def _fusions(gone: Iterable[NodeEntry], new: Iterable[NodeEntry], there: Collection[str]) -> Iterator[Fusion]:
    """Yield what each new node replaces, if it is more than one node."""
    maker = {name: node for node in gone for name in node.outputs if name}
    for node in new:
        replaced = _replaced(node, maker, there)
        if len(replaced) > 1:
            yield Fusion(node.operator, tuple(sorted(Counter(one.operator for one in replaced).items())))


def _replaced(node: NodeEntry, maker: Mapping[str, NodeEntry], there: Collection[str]) -> tuple[NodeEntry, ...]:
    """Return the nodes between the inputs and the outputs of ``node`` in the first graph.

    Args:
        node: Of the second graph.
        maker: Which node that is gone made a tensor.
        there: The tensors that nodes of the second graph make: what lies behind them was not replaced.
    """
    found: dict[int, NodeEntry] = {}
    waiting = [name for name in node.outputs if name in maker]
    while waiting:
        one = maker[waiting.pop()]
        if id(one) in found:
            continue
        found[id(one)] = one
        waiting += [name for name in one.inputs if name in maker and name not in there and name not in node.inputs]
    return tuple(found.values())
