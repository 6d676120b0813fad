"""How two graphs differ: what was added, removed, changed and fused on the way from one to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from irbench.onnx.reading.inventory import Inventory, NodeEntry

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
    where the tool kept the names of the tensors between which it worked, or made new ones by adding to them, as passes
    do that write ``scores_reshape`` in the place of ``scores``. What computes sizes is no part of it. A node that
    several new ones depend on is part of the first.
    """
    named = {node.name: node for node in before.nodes if node.name}
    same_name = [(named[node.name], node) for node in after.nodes if node.name in named]
    matched = {id(node) for pair in same_name for node in pair}
    rest_before = {(node.operator, node.outputs): node for node in before.nodes if id(node) not in matched}
    rest_after = [node for node in after.nodes if id(node) not in matched]
    added = [node for node in rest_after if (node.operator, node.outputs) not in rest_before]
    kept = {(node.operator, node.outputs) for node in rest_after}
    removed = [node for key, node in rest_before.items() if key not in kept]
    changed = [(old, new) for old, new in same_name if old.operator != new.operator]
    gone = [*removed, *(before for before, _ in changed)]
    others = {id(node) for node in (*added, *(other for _, other in changed))}
    new = [node for node in after.nodes if id(node) in others]
    return Difference(
        operators=_counts(before.operators, after.operators),
        added=tuple(added),
        removed=tuple(removed),
        changed=tuple(changed),
        fusions=dict(Counter(_fusions(gone, new, _tensors(after), _sizes(before))).most_common()),
    )


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys((*before, *after))
    counts = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: both for name, both in counts.items() if both[0] != both[1]}


def _tensors(graph: Inventory) -> frozenset[str]:
    return frozenset(name for node in graph.nodes for name in node.outputs)


def _sizes(graph: Inventory) -> frozenset[str]:
    """Return the tensors that depend on the sizes of others, and not on what these hold."""
    constants = {weight.name for weight in graph.weights}
    constants.update(name for node in graph.nodes if node.operator == "Constant" for name in node.outputs)
    found: set[str] = set()
    for node in graph.nodes:
        if node.operator in ("Shape", "Size") or (
            not found.isdisjoint(node.inputs) and found | constants >= {*node.inputs}
        ):
            found.update(node.outputs)
    return frozenset(found)


def _fusions(
    gone: Iterable[NodeEntry], new: Iterable[NodeEntry], there: Collection[str], sizes: Collection[str]
) -> Iterator[Fusion]:
    """Yield what each new node replaces that none before it does, if it is more than one node.

    Args:
        gone: Nodes that only the first graph has.
        new: Nodes that only the second one has, in its order.
        there: The tensors that nodes of the second graph make.
        sizes: Tensors of the first graph that hold sizes.
    """
    maker = {name: node for node in gone for name in node.outputs if name and name not in sizes}
    lost = {name: node for name, node in maker.items() if name not in there}
    taken: set[int] = set()
    for node in new:
        kept = [name for name in node.outputs if name in maker]
        starts = [maker[name] for name in kept or _begun_with(node.outputs, lost)]
        # a weight may be named after any tensor
        ends = {*node.inputs, *_begun_with((name for name in node.inputs if name in there), lost)}
        replaced = _between(starts, ends, lost, taken)
        if not kept and any(old.operator == node.operator for old in replaced):
            continue  # it only works on another shape
        taken.update(map(id, replaced))
        if len(replaced) > 1:
            yield Fusion(node.operator, tuple(sorted(Counter(old.operator for old in replaced).items())))


def _between(
    starts: Iterable[NodeEntry], ends: Collection[str], lost: Mapping[str, NodeEntry], taken: Collection[int]
) -> tuple[NodeEntry, ...]:
    """Return the nodes from which ``starts`` follow, themselves included, back to the tensors ``ends``.

    Args:
        starts: Nodes of the first graph.
        ends: What lies behind these tensors is no part of it.
        lost: Which node made a tensor that the second graph lacks: what lies behind others was not replaced.
        taken: Identities of nodes that others replaced.
    """
    found: dict[int, NodeEntry] = {}
    waiting = list(starts)
    while waiting:
        current = waiting.pop()
        if id(current) not in found and id(current) not in taken:
            found[id(current)] = current
            waiting += [lost[name] for name in current.inputs if name in lost and name not in ends]
    return tuple(found.values())


def _begun_with(names: Iterable[str], lost: Collection[str]) -> list[str]:
    """Return, for each name to which something was added, the longest lost one that it begins with."""
    begun = (next((stem for stem in _stems(name) if stem in lost), None) for name in names)
    return [name for name in begun if name is not None]


def _stems(name: str) -> Iterator[str]:
    """Yield ``a_b`` and ``a`` for ``a_b_c``."""
    while "_" in name:
        name = name.rpartition("_")[0]
        yield name
