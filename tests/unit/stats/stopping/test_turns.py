"""Rounds in which feeds take turns."""

from __future__ import annotations

import pytest

from irbench.stats.launch_planning import equal_calls, fewest_calls, same_mix, whole_turns


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


@pytest.mark.parametrize(
    ("samples", "feeds", "expected"),
    [((30, 5), 4, (32, 8)), ((12, 13), 12, (12, 24)), ((3, 300), 12, (3, 3)), ((300, 11), 12, (11, 11))],
)
def test_uninterrupted_runs_meet_the_same_mix_of_feeds(
    samples: tuple[int, int], feeds: int, expected: tuple[int, int]
) -> None:
    ones = {"a": 1, "b": 1}
    assert same_mix(dict(zip("ab", samples, strict=True)), ones, ones, feeds) == dict(zip("ab", expected, strict=True))
