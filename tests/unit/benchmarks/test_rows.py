"""Findings: ratios are paired by repeat, and a goal is compared with what it names."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from benchmarks.rows import Finding, Goal, Parity, as_plain, as_table
from irbench.stats.intervals import Bound, Interval


def test_ratios_and_differences_are_paired_by_repeat() -> None:
    # 10/5, 12/4, 9/9: their median is 2, while the ratio of the medians 10/5 happens to be taken from other repeats
    found = Finding("run", "time", "s", own=(10, 12, 9), other=(5, 4, 9))
    assert found.values("ratio") == (2, 3, 1)
    assert found.values("difference") == (5, 8, 0)
    assert found.values("own") == (10, 12, 9)


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal("ratio", "<=", 2.0), "yes"),
        (Goal("ratio", "<=", 1.99), "missed"),
        (Goal("ratio", ">=", 2.0), "yes"),
        (Goal("ratio", ">=", 2.01), "missed"),
        (Goal("difference", "<=", 5.0), "yes"),
        (Goal("difference", "<=", 4.9), "missed"),
        (Goal("own", "<", 10.0), "missed"),
        (Goal("own", "<", 10.1), "yes"),
    ],
)
def test_the_median_of_what_a_goal_names_is_held_against_it(goal: Goal, met: str) -> None:
    assert Finding("run", "time", "s", own=(10, 12, 9), other=(5, 4, 9), goal=goal).met == met


def test_without_a_goal_or_without_figures_nothing_is_met_or_missed() -> None:
    assert Finding("run", "time", own=(1.0, 1.0)).met is None
    assert Finding("run", "time", own=(0.1,), goal=Goal("own", "<", 1)).met is None
    assert Finding("run", "time", goal=Goal("own", "<", 1), remark="no reference").met is None


def test_what_is_compared_with_nothing_has_no_ratio() -> None:
    (plain,) = as_plain([Finding("prompt", "--help", "ms", own=(80.0, 90.0))])
    assert plain["ratio"] == []
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


def parity(*ratios: float) -> Finding:
    return Finding("ort", "sync", "FPS", ratios, (1.0,) * len(ratios), "a loop", Parity())


def test_parity_is_met_only_where_the_whole_interval_is_the_same_or_above() -> None:
    assert parity(*[0.99] * 4, *[1.01] * 4).met == "yes"
    assert parity(*[1.05] * 4, *[1.30] * 4).met == "yes"
    assert parity(*[0.99] * 7, 0.97).met == "undecided"
    assert parity(*[0.9] * 4, *[1.3] * 4).met == "undecided"
    assert parity(*[0.9] * 4, *[0.97] * 4).met == "missed"


def test_a_ratio_that_a_run_tells_is_judged_by_the_runs_own_interval() -> None:
    told = Interval(math.log(1.01), math.log(0.99), math.log(1.02), 7, 0.95, Bound(1))
    found = replace(parity(1.3), interval=told)
    assert found.met == "yes"
    (row,) = as_table([found]).complete_rows()
    assert row[4] == "1.01 [0.99, 1.02] at 95 %"
    assert row[7].endswith("7 launches")
    preview = replace(found, interval=replace(told, confidence=None))
    assert preview.met == "undecided"
    assert as_table([preview]).complete_rows()[0][4] == "1.01 [0.99, 1.02], a range"


def test_a_median_at_parity_does_not_make_up_for_a_wide_interval() -> None:
    found = parity(0.922, 0.99, 0.997, 0.998, 1.0, 1.02, 1.06)
    assert found.met == "undecided"
    (row,) = as_table([found]).complete_rows()
    assert row[4:7] == ("0.998 [0.922, 1.06] at 95 %", "same within 2 %, or more", "undecided")


def test_more_repeats_leave_out_what_disturbed_one_of_them() -> None:
    assert parity(0.7, *[1.0] * 7).met == "undecided"
    assert parity(0.7, *[1.0] * 10, 1.4).met == "yes"


def test_too_few_repeats_decide_no_parity() -> None:
    assert parity(1.0).met is None
    assert parity(0.995, 1.005).met == "undecided"


def test_a_goal_for_every_repeat_is_missed_by_one() -> None:
    always = Goal("own", "<=", 0, always=True)
    assert Finding("run", "previews", own=(0.0, 0.0, 1.0), goal=always).met == "missed"
    assert Finding("run", "previews", own=(0.0, 0.0), goal=always).met == "yes"
    assert Finding("run", "previews", own=(0.0, 0.0, 1.0), goal=Goal("own", "<=", 0)).met == "yes"


def test_what_never_came_misses_its_goal_and_is_null_in_json() -> None:
    goal = Goal("own", "<=", 30)
    found = Finding("run", "until", "s", own=(20.0, math.inf, math.inf), goal=goal)
    assert found.met == "missed"
    (row,) = as_table([found]).complete_rows()
    assert (row[2], row[4]) == ("never", "[20, never]")
    (plain,) = json.loads(json.dumps(as_plain([found]), allow_nan=False))
    assert (plain["own"], plain["medians"]["own"]) == ([20.0, None, None], None)
    assert Finding("run", "until", "s", own=(20.0, 25.0, math.inf), goal=goal).met == "yes"
