"""Remove nodes and weights that no output needs."""

from __future__ import annotations

from irbench.onnx.rewriting.detached_weights import DetachedModel, used_names


def drop_unused(detached: DetachedModel) -> bool:
    """Remove what is not used until nothing is left to remove; the model's inputs stay."""
    graph = detached.model.graph
    before = len(graph.node) + len(detached.weights)
    while True:
        used = set(used_names(graph))
        kept = [node for node in graph.node if not used.isdisjoint(node.output)]
        if len(kept) == len(graph.node):
            break
        del graph.node[:]
        graph.node.extend(kept)
    detached.weights = {name: value for name, value in detached.weights.items() if name in used}
    return len(graph.node) + len(detached.weights) < before
