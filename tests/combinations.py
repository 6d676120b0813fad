"""Fewer cases than every value with every other, where a test has several parameters."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any


def each_once(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return as many cases as the longest has values: each value is in one of them."""
    known = [list(some) for some in values]
    return [tuple(some[place % len(some)] for some in known) for place in range(max(map(len, known)))]


def every_pair(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return cases in which each two values of different parameters meet, about as few as that takes."""
    known = [list(some) for some in values]
    places = [range(len(some)) for some in known]
    missing = {pair for case in product(*places) for pair in _pairs(case)}
    cases = []
    while missing:
        best = max(product(*places), key=lambda case: len(missing & _pairs(case)))
        missing -= _pairs(best)
        cases.append(tuple(some[place] for some, place in zip(known, best, strict=True)))
    return cases


def _pairs(case: tuple[int, ...]) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    return set(combinations(enumerate(case), 2))
