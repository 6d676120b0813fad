"""Which nodes of the graph as it was exported an optimised graph's nodes took the place of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from irbench.onnx.reading.contained_nodes import ContainedNodes
from irbench.onnx.reading.inventory import Inventory, NodeEntry


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
    found: dict[str, tuple[str, ...]] = {}
    for node in optimized.nodes:
        tensors = tuple(_known(node, graph))
        claimed = graph.claim(tensors, node.label) or _taken(node, graph, tensors, kept)
        if claimed:
            found[node.label] = claimed
    return found


def _taken(node: NodeEntry, graph: ContainedNodes, tensors: Collection[str], kept: Collection[str]) -> tuple[str, ...]:
    """Return the makers of a node's tensors, which another node has claimed already."""
    if node.label in kept:
        return (node.label,)
    return tuple(maker.label for tensor in tensors if (maker := graph.maker(tensor)) is not None)


def _known(node: NodeEntry, graph: ContainedNodes) -> Iterator[str]:
    """Yield the tensors of the exported graph that a node's outputs are, or are named after."""
    for output in node.outputs:
        names = (name for name in (output, *_stems(output)) if graph.maker(name) is not None)
        yield from list(names)[:1]


def _stems(name: str) -> Iterator[str]:
    """Yield ``a_b`` and ``a`` for ``a_b_c``."""
    while "_" in name:
        name = name.rpartition("_")[0]
        yield name
