"""Findings: ratios are paired by repeat, and a goal is held against what it names."""

from __future__ import annotations

import pytest

from benchmarks.rows import Finding, Goal, as_plain, as_table


def test_ratios_and_differences_are_paired_by_repeat() -> None:
    # 10/5, 12/4, 9/9: their median is 2, while the ratio of the medians 10/5 happens to be taken from other repeats
    found = Finding("run", "time", "s", own=(10, 12, 9), other=(5, 4, 9))
    assert found.values("ratio") == (2, 3, 1)
    assert found.values("difference") == (5, 8, 0)
    assert found.values("own") == (10, 12, 9)


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal("ratio", "<=", 2.0), True),
        (Goal("ratio", "<=", 1.99), False),
        (Goal("ratio", ">=", 2.0), True),
        (Goal("ratio", ">=", 2.01), False),
        (Goal("difference", "<=", 5.0), True),
        (Goal("difference", "<=", 4.9), False),
        (Goal("own", "<", 10.0), False),
        (Goal("own", "<", 10.1), True),
    ],
)
def test_the_median_of_what_a_goal_names_is_held_against_it(goal: Goal, met: bool) -> None:
    assert Finding("run", "time", "s", own=(10, 12, 9), other=(5, 4, 9), goal=goal).met is met


def test_without_a_goal_or_without_figures_nothing_is_met_or_missed() -> None:
    assert Finding("run", "time", own=(1.0, 1.0)).met is None
    assert Finding("run", "time", own=(0.1,), goal=Goal("own", "<", 1)).met is None
    assert Finding("run", "time", goal=Goal("own", "<", 1), remark="no reference").met is None


def test_what_is_compared_with_nothing_has_no_ratio() -> None:
    (plain,) = as_plain([Finding("prompt", "--help", "ms", own=(80.0, 90.0))])
    assert plain["ratio"] == ()
    assert plain["medians"] == {"own": 85.0, "ratio": None, "difference": None}


def test_a_missed_goal_stands_in_its_row() -> None:
    goal = Goal("ratio", "<=", 1.3)
    table = as_table([Finding("run", "time", "s", (3.0, 3.0), (2.0, 2.0), "its parts", goal, "one model")])
    (row,) = table.complete_rows()
    assert row == (
        "run",
        "time",
        "3 s",
        "2 s",
        "1.5 [1.5, 1.5]",
        "<= 1.3",
        "MISSED",
        "against its parts · one model · 2 repeats",
    )


def test_a_goal_of_a_difference_names_its_unit() -> None:
    table = as_table(
        [Finding("harness", "call", "us", (0.2, 0.2), (0.1, 0.1), "a loop", Goal("difference", "<=", 0.3))]
    )
    assert table.complete_rows()[0][5:7] == ("<= 0.3 us more", "yes")


def test_what_failed_gives_its_reason_in_place_of_figures() -> None:
    table = as_table([Finding("ort", "FPS", remark="onnxruntime is not installed", failed=True)])
    assert table.complete_rows()[0][:3] == ("ort", "FPS", "failed: onnxruntime is not installed")
