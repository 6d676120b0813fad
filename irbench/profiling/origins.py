"""Which nodes of the graph as it was exported an optimised graph's nodes took the place of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from irbench.profiling.record import GraphNode

__all__ = ["origins"]


def origins(optimized: Sequence[GraphNode], original: Sequence[GraphNode]) -> Mapping[str, tuple[str, ...]]:
    """Return, by the name of each node of an optimised graph, the original nodes that it stands for.

    A node of the same name stands for itself. A new one stands for what lies, in the original graph, between its
    outputs and its inputs, as far as tensors kept their names; where none did, it stands for nothing, and is named
    by itself.

    Args:
        optimized: Nodes of the optimised graph.
        original: Nodes of the graph that it was made from.
    """
    names = {node.name for node in original}
    makers = {tensor: node for node in original for tensor in node.outputs if tensor}
    kept = {node.name for node in optimized if node.name in names}
    found: dict[str, tuple[str, ...]] = {}
    for node in optimized:
        itself = {node.name} if node.name in names else set[str]()
        between = itself | _between(node, makers, kept)
        found[node.name] = tuple(sorted(between)) or (node.name,)
    return found


def _between(node: GraphNode, makers: Mapping[str, GraphNode], kept: Collection[str]) -> set[str]:
    """Return the names of original nodes, which the optimised graph lacks, from a node's outputs back to its inputs."""
    found: set[str] = set()
    waiting = [tensor for tensor in node.outputs if tensor in makers]
    while waiting:
        tensor = waiting.pop()
        maker = makers.get(tensor)
        if maker is None or tensor in node.inputs or maker.name in found or maker.name in kept:
            continue
        found.add(maker.name)
        waiting += maker.inputs
    return found
