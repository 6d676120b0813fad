"""The consumers of each output in a ``GraphDef``."""

from __future__ import annotations

from collections import defaultdict
from typing import Any


def consumers_by_name(graph_def: Any) -> dict[str, list[Any]]:
    """Return the nodes that take a node's outputs as data, by the name of that node; control inputs do not count."""
    consumers: dict[str, list[Any]] = defaultdict(list)
    for node in graph_def.node:
        for reference in node.input:
            if not reference.startswith("^"):
                consumers[reference.split(":")[0]].append(node)
    return consumers
