"""Figures in words."""

from __future__ import annotations

import pytest

from irbench.render.quantities import listing, plural


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(0, "block", "0 blocks"), (1, "launch", "1 launch"), (2, "launch", "2 launches"), (3, "data set", "3 data sets")],
)
def test_one_of_a_thing_is_singular_and_any_other_number_plural(count: int, noun: str, said: str):
    assert plural(count, noun) == said


def test_a_listing_ends_in_and():
    assert [listing("a"), listing("ab"), listing("abc")] == ["a", "a and b", "a, b and c"]
