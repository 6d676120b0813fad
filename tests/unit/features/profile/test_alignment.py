"""Longest common subsequences: what is found is common, in order, and as long as can be."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irbench.features.profile import joining
from irbench.features.profile.joining import aligned

SHORT = st.text(alphabet="abc", max_size=7)


def longest(left: str, right: str) -> int:
    """Return the length of a longest common subsequence by trying all."""
    found = {"".join(part) for size in range(len(left) + 1) for part in combinations(left, size)}
    every = {"".join(part) for size in range(len(right) + 1) for part in combinations(right, size)}
    return max(map(len, found & every))


@given(SHORT, SHORT)
def test_an_alignment_is_common_ascending_and_as_long_as_can_be(left: str, right: str) -> None:
    pairs = aligned(left, right)
    assert all(left[first] == right[second] for first, second in pairs)
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
    assert len(pairs) == longest(left, right)


def test_what_is_unknown_is_equal_to_nothing() -> None:
    assert aligned([None, "a"], [None, "a"]) == ((1, 1),)


def test_sequences_of_nearly_equal_elements_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_PAIRS", 8)
    assert aligned("aaa", "aaa") == ()
    assert len(aligned("aba", "aca")) == 2
