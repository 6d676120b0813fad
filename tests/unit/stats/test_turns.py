"""Rounds in which feeds take turns."""

from __future__ import annotations

import pytest

from irbench.stats import equal_calls, fewest_calls, whole_turns


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


@pytest.mark.parametrize(
    ("samples", "calls", "streams", "expected"),
    [
        ((3, 25), (1, 1), (1, 1), (3, 3)),
        ((3, 25), (1, 1), (1, 4), (4, 4)),
        ((7, 9), (1, 1), (1, 4), (8, 8)),
        ((40, 6), (1, 4), (1, 1), (24, 6)),
        ((3, 5), (7, 5), (1, 1), (5, 7)),
    ],
)
def test_cells_make_as_many_calls_as_the_one_that_makes_the_fewest(
    samples: tuple[int, int], calls: tuple[int, int], streams: tuple[int, int], expected: tuple[int, int]
) -> None:
    found = equal_calls(*(dict(zip("ab", numbers, strict=True)) for numbers in (samples, calls, streams)))
    assert found == dict(zip("ab", expected, strict=True))
    assert found["a"] * calls[0] == found["b"] * calls[1]


def test_a_slow_cell_makes_few_calls_where_no_small_number_suits_all() -> None:
    assert equal_calls({"a": 3, "b": 25}, {"a": 1, "b": 10}, {"a": 1, "b": 1}) == {"a": 3, "b": 1}
    assert fewest_calls({"a": 3, "b": 1}, {"a": 1, "b": 10}) == 3
