"""What a program that times itself may write, what it may not, and the window that its durations make."""

from __future__ import annotations

import pytest

from irbench.measure.durations import BadDurations, Durations, parse_durations, require_within, window_of


@pytest.mark.parametrize(
    ("line", "expected_ns"),
    [
        ("12.5", [12_500_000]),
        ("12.5 ms", [12_500_000]),
        ("850us", [850_000]),
        ("850 µs", [850_000]),
        ("1.5e-3 s", [1_500_000]),
        ("123456 ns", [123_456]),
        ('{"ms": 12.5}', [12_500_000]),
        ('{"us": [1, 2.5], "model": "mine"}', [1000, 2500]),
        ("[1, 2]", [1_000_000, 2_000_000]),
        ("0.1 ns", [1]),
    ],
)
def test_a_line_is_a_duration_with_its_unit_or_json(line: str, expected_ns: list[int]) -> None:
    assert parse_durations(f" {line}\r").calls_ns == tuple(expected_ns)


def test_a_line_may_say_how_long_its_calls_took_together() -> None:
    assert parse_durations('{"ms": [2, 3], "total_ms": 4}') == Durations((2_000_000, 3_000_000), 4_000_000)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Loading model ...",
        "12.5 minutes",
        "nan",
        "NaN ms",
        "inf",
        "-3 ms",
        "0",
        "[]",
        '{"ms": []}',
        '{"ms": "12"}',
        '{"ms": [1, null]}',
        '{"ms": true}',
        '{"ms": NaN}',
        '{"ms": 1, "us": 1000}',
        '{"fps": 30}',
        '{"ms": [1], "total_ms": 0}',
        '{"ms": [1], "total_ms": [1, 2]}',
        '"12"',
        "{",
    ],
)
def test_anything_else_is_refused_with_a_way_to_write_it(line: str) -> None:
    with pytest.raises(BadDurations) as caught:
        parse_durations(line)
    assert caught.value.hint


def test_calls_follow_each_other_without_gaps() -> None:
    window = window_of([Durations((10, 20)), Durations((5,))])
    assert window.completion_ns.tolist() == [10, 30, 35]
    assert (window.completion_ns - window.issue_ns).tolist() == [10, 20, 5]


def test_a_total_is_how_long_the_window_is_and_latencies_stay_as_they_are() -> None:
    window = window_of([Durations((30, 40, 50), total_ns=60)])
    assert window.completion_ns.tolist() == [20, 40, 60]
    assert (window.completion_ns - window.issue_ns).tolist() == [30, 40, 50]


def test_durations_may_not_add_up_to_more_than_the_time_that_passed() -> None:
    window = window_of([Durations((60_000_000, 60_000_000))])
    require_within(window, 121_000_000)
    with pytest.raises(BadDurations, match="add up to 120 ms, but only 100 ms passed") as caught:
        require_within(window, 100_000_000)
    assert "without a unit is in milliseconds" in caught.value.hint
