"""Remove nodes and weights that no output needs."""

from __future__ import annotations

from irbench.ir.loose import LooseModel, used_names

__all__ = ["drop_unused"]


def drop_unused(loose: LooseModel) -> bool:
    """Remove what is not used until nothing is left to remove; the model's inputs stay."""
    graph = loose.model.graph
    before = len(graph.node) + len(loose.weights)
    while True:
        used = set(used_names(graph))
        kept = [node for node in graph.node if not used.isdisjoint(node.output)]
        if len(kept) == len(graph.node):
            break
        del graph.node[:]
        graph.node.extend(kept)
    loose.weights = {name: value for name, value in loose.weights.items() if name in used}
    return len(graph.node) + len(loose.weights) < before
