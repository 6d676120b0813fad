"""A race of two rows ends as soon as their ratio is known to lie on one side of the factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import launches
import pytest

from irbench.core.record import Failure, LaunchRecord
from irbench.core.result import StoppedBy
from irbench.features.reduce.speed import CONFIRMATION, TRIAL, UntilSided, for_interval, interval_seconds
from irbench.stats import Admission, Next, Pace

GROUP = launches.group("slow", "fast")
RACE = UntilSided("slow", "fast", 1.5)


def following(records: Sequence[LaunchRecord], elapsed_s: float = 1.0, **failed: Failure) -> Next:
    pace = Pace(elapsed_s, [0.5] * len(records))
    return RACE.following(GROUP, records, TRIAL, Admission({}, failed, allow_mixed=False), pace)


def raced(slow_ms: Sequence[float], fast_ms: Sequence[float]) -> list[LaunchRecord]:
    levels: Mapping[str, Sequence[float]] = {"slow": slow_ms, "fast": fast_ms}
    return launches.even(levels)


def test_both_rows_are_launched_first():
    assert following([]) == Next(("slow", "fast"))


@pytest.mark.parametrize("slow_ms", [[3.0, 3.01], [1.0, 1.002], [0.5, 0.5]])
def test_a_clear_ratio_ends_it_at_the_first_look(slow_ms: Sequence[float]):
    assert following(raced(slow_ms[:1], [1.0])) == Next(("slow", "fast"))
    assert following(raced(slow_ms, [1.0, 1.0])).stopped_by == "target"


def test_a_ratio_near_the_factor_goes_on_until_there_are_no_launches_left():
    near = [1.4, 1.6] * 4
    assert following(raced(near[:4], [1.0] * 4)) == Next(("slow", "fast"))
    assert following(raced(near, [1.0] * 8)).stopped_by == "launches"


@pytest.mark.parametrize(("elapsed_s", "stopped_by"), [(TRIAL.budget - 0.1, "budget"), (TRIAL.budget / 2, None)])
def test_no_launch_begins_that_would_end_too_late(elapsed_s: float, stopped_by: StoppedBy | None):
    assert following(raced([1.4, 1.6], [1.0, 1.0]), elapsed_s).stopped_by == stopped_by


def test_what_has_no_interval_yet_goes_on_for_as_long_as_it_was_given():
    race, few, enough = (
        replace(RACE, until_interval_s=600.0),
        raced([1.4, 1.6] * 2, [1.0] * 4)[:3],
        raced([1.4, 1.6] * 2, [1.0] * 4),
    )
    admission = Admission({}, {}, allow_mixed=False)

    def following(records: Sequence[LaunchRecord], elapsed_s: float) -> Next:
        return race.following(GROUP, records, CONFIRMATION, admission, Pace(elapsed_s, [60.0] * len(records)))

    assert following(few, CONFIRMATION.budget + 1) == Next(("slow", "fast"))
    assert following(few, 590.0).stopped_by == "budget"
    assert following(enough, CONFIRMATION.budget + 1).stopped_by == "budget"


def test_a_row_that_fails_or_answers_wrongly_ends_it():
    records = raced([3.0], [1.0])
    assert following(records, fast=Failure("verify", "off by 0.5")).stopped_by == "failures"
    crashed = [replace(records[0], cells=records[0].cells[:1], failures={"fast": Failure("run", "it crashed")})]
    assert following(crashed).stopped_by == "failures"


@pytest.mark.parametrize(("budget_s", "is_small"), [(20.0, True), (120.0, False)])
def test_launches_stay_short_where_the_budget_has_room_for_few(budget_s: float, is_small: bool):
    assert (for_interval(CONFIRMATION, budget_s).sized_for == interval_seconds()) is is_small
    assert for_interval(TRIAL, budget_s) == TRIAL
