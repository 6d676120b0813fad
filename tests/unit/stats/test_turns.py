"""Rounds in which feeds take turns."""

from __future__ import annotations

import pytest

from irbench.stats import equal_calls, whole_turns


@pytest.mark.parametrize(
    ("samples", "calls", "streams", "feeds", "expected"),
    [(5, 1, 1, 12, 12), (25, 1, 1, 12, 36), (12, 1, 1, 12, 12), (5, 4, 1, 12, 6), (3, 12, 1, 12, 3), (4, 1, 4, 6, 12)],
)
def test_a_round_uses_every_feed_equally_often(
    samples: int, calls: int, streams: int, feeds: int, expected: int
) -> None:
    found = whole_turns({"a": samples}, {"a": calls}, {"a": streams}, feeds)["a"]
    assert found == expected
    assert found * calls % feeds == 0


def test_cells_make_as_many_calls_as_the_one_that_makes_the_fewest() -> None:
    samples, calls = {"a": 3, "b": 25, "c": 30}, {"a": 1, "b": 1, "c": 2}
    assert equal_calls(samples, calls, {"a": 1, "b": 1, "c": 1}) == {"a": 3, "b": 3, "c": 2}
    assert equal_calls({"a": 3, "b": 25}, {"a": 1, "b": 1}, {"a": 1, "b": 4}) == {"a": 3, "b": 4}
