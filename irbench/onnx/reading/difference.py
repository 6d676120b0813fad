"""How two graphs differ: what was added, removed, changed and fused on the way from one to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from irbench.onnx.reading.inventory import Inventory, NodeEntry
from irbench.onnx.reading.origins import Origins, find_origins, sizes_of, tensors_of


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
    where the tool kept the names of the tensors between which it worked, made new ones by adding to them, or cast or
    reshaped them (:func:`irbench.onnx.reading.origins.find_origins`). What computes sizes is no part of it, nor what
    may lie behind an input of which the origin is unknown. A node that several new ones depend on is part of the first.
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
        fusions=dict(Counter(_fusions(before, after, gone, new)).most_common()),
    )


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys((*before, *after))
    counts = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: both for name, both in counts.items() if both[0] != both[1]}


def _fusions(
    before: Inventory, after: Inventory, gone: Iterable[NodeEntry], new: Iterable[NodeEntry]
) -> Iterator[Fusion]:
    there, sizes, origins = tensors_of(after), sizes_of(before), find_origins(before, after)
    maker = {name: node for node in gone for name in node.outputs if name and name not in sizes}
    lost = {name: node for name, node in maker.items() if name not in there}
    taken: set[int] = set()
    for node in new:
        kept = [name for name in node.outputs if name in maker]
        starts = [maker[name] for name in kept or origins.of_outputs(node.outputs) if name in maker]
        replaced = _between(starts, node.inputs, lost, origins, taken)
        if not kept and any(old.operator == node.operator for old in replaced):
            continue  # it only works on another shape
        taken.update(map(id, replaced))
        if len(replaced) > 1:
            yield Fusion(node.operator, tuple(sorted(Counter(old.operator for old in replaced).items())))


def _between(
    starts: Iterable[NodeEntry],
    inputs: Collection[str],
    lost: Mapping[str, NodeEntry],
    origins: Origins,
    taken: Collection[int],
) -> tuple[NodeEntry, ...]:
    """Return the nodes from which ``starts`` follow, themselves included, back to what ``inputs`` stand for."""
    ends = {*inputs, *origins.of_inputs(inputs)}
    found: dict[int, NodeEntry] = {}
    waiting = list(starts)
    while waiting:
        current = waiting.pop()
        if id(current) not in found and id(current) not in taken:
            found[id(current)] = current
            further = [name for name in current.inputs if name in lost and name not in ends]
            waiting += [lost[name] for name in further if not origins.is_within(name, inputs)]
    return tuple(found.values())
