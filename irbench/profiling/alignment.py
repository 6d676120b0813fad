"""The longest common subsequence of two sequences.

Source: Hunt and Szymanski, "A Fast Algorithm for Computing Longest Common Subsequences", Comm. ACM 20 (1977). It is
quick where most elements are rare, as executed operators and graph nodes are that names have joined already.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

MOST_PAIRS = 2_000_000
"""Equal pairs of elements, beyond which the search would take seconds: sequences of so much sameness prove nothing."""


@dataclass(frozen=True, slots=True)
class _Link:
    left: int
    right: int
    before: _Link | None


def aligned(left: Sequence[Hashable | None], right: Sequence[Hashable | None]) -> tuple[tuple[int, int], ...]:
    """Return the places of a longest common subsequence, in order; none where nearly all elements are the same.

    Args:
        left: One sequence; ``None`` is equal to nothing.
        right: The other.
    """
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, element in enumerate(right):
        if element is not None:
            places[element].append(place)
    if sum(len(places[element]) for element in left if element in places) > MOST_PAIRS:
        return ()
    ends: list[int] = []
    links: list[_Link] = []
    for at, element in enumerate(left):
        for place in reversed(places.get(element, ()) if element is not None else ()):
            length = bisect_left(ends, place)
            link = _Link(at, place, links[length - 1] if length else None)
            if length == len(ends):
                ends.append(place)
                links.append(link)
            elif place < ends[length]:
                ends[length], links[length] = place, link
    return _pairs(links[-1] if links else None)


def _pairs(link: _Link | None) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    while link is not None:
        found.append((link.left, link.right))
        link = link.before
    return tuple(reversed(found))
