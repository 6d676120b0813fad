"""Groups of nodes that can be compared between backends: what any of them computes in one operator stays together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are compared as one.

    Attributes:
        key: Name of its first node, which is unique.
        nodes: Names of its nodes, in the order of the graph.
    """

    key: str
    nodes: tuple[str, ...]


def node_groups(fused: Iterable[Sequence[str]], order: Sequence[str]) -> Mapping[str, NodeGroup]:
    """Return the group of each node that some operator computes.

    Args:
        fused: For each operator of each backend, the names of the nodes that it computes.
        order: Names of all nodes in topological order; others come behind.
    """
    places = {name: place for place, name in enumerate(order)}
    parents: dict[str, str] = {}
    for names in fused:
        for name in names:
            parents.setdefault(name, name)
        roots = [_root(parents, name) for name in names]
        parents.update(dict.fromkeys(roots, roots[0]) if roots else {})
    members: dict[str, list[str]] = {}
    for name in sorted(parents, key=lambda name: (places.get(name, len(places)), name)):
        members.setdefault(_root(parents, name), []).append(name)
    groups = (NodeGroup(names[0], tuple(names)) for names in members.values())
    return {name: group for group in groups for name in group.nodes}


def _root(parents: dict[str, str], name: str) -> str:
    while parents[name] != name:
        parents[name] = parents[parents[name]]
        name = parents[name]
    return name
