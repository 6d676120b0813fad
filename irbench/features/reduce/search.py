"""Delta debugging: which of the nodes of a graph are needed to show a difference.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE Trans. Software Engineering 28 (2002),
with windows of the topological order in place of their chunks: half of a graph is its beginning, its end or its middle.
A difference that lies in no half, because it needs both ends, is found by leaving ever smaller parts out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

Nodes: TypeAlias = tuple[int, ...]
"""Places of nodes in a graph, in its order."""

_PARTS_ALONE = 4
"""In how many parts a graph is divided at most where each part is tried alone: smaller ones hardly show what none of
these does, and there are many."""


def smallest(nodes: Nodes, sizes: Mapping[int, int], shows: Callable[[Nodes], bool]) -> Nodes:
    """Return the fewest nodes found that show what all of them do: each was left out alone, and what was left did not.

    Of parts with equally many nodes the one with the smallest weights is tried first. No part is tried twice.

    Args:
        nodes: All that show it.
        sizes: Of each node's weights, in bytes.
        shows: Tells whether some nodes, never all of ``nodes``, show it. What it raises ends the search.
    """
    tried = {nodes: True}

    def is_shown(part: Nodes) -> bool:
        if part not in tried:
            tried[part] = shows(part)
        return tried[part]

    parts = 2
    while len(nodes) > 1:
        smaller = next((part for part in _parts(nodes, parts, sizes) if is_shown(part)), None)
        if smaller is not None:
            parts = 2 if len(smaller) * 2 <= len(nodes) + 1 else max(2, parts - 1)
            nodes = smaller
        elif parts >= len(nodes):
            break
        else:
            parts = min(2 * parts, len(nodes))
    return nodes


def _parts(nodes: Nodes, count: int, sizes: Mapping[int, int]) -> Iterator[Nodes]:
    """Yield smaller graphs, those with the fewest nodes first: parts alone, then all without one part."""
    count = min(count, len(nodes))
    divided = _divided(nodes, count)
    if count <= _PARTS_ALONE:
        alone = [*divided, *([_middle(nodes)] if count == 2 else [])]
        yield from _smallest_first(alone, sizes)
    if count > 2:
        left = [tuple(node for node in nodes if node not in set(part)) for part in divided]
        yield from _smallest_first(left, sizes)


def _divided(nodes: Nodes, count: int) -> list[Nodes]:
    """Return consecutive parts of nearly the same length."""
    edges = [round(place * len(nodes) / count) for place in range(count + 1)]
    return [nodes[start:end] for start, end in pairwise(edges) if start < end]


def _middle(nodes: Nodes) -> Nodes:
    quarter = len(nodes) // 4
    return nodes[quarter : len(nodes) - quarter] if quarter else nodes[:1]


def _smallest_first(parts: Sequence[Nodes], sizes: Mapping[int, int]) -> list[Nodes]:
    return sorted(parts, key=lambda part: (len(part), sum(sizes.get(node, 0) for node in part)))
