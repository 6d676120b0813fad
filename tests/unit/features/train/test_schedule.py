"""Which rows of a design are launched next."""

from __future__ import annotations

import launches
import pytest

from irbench.core.record import Failure, LaunchRecord
from irbench.features.train.schedule import EqualLaunches
from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.stopping_rule import Next, Pace

NAMES = "abcdefgh"


def following(records: list[LaunchRecord], most: int = 2, admission: Admission | None = None) -> Next:
    pace = Pace(10.0 * len(records), [10.0] * len(records))
    return EqualLaunches(most).following(launches.group(*NAMES), records, Timing(), admission or Admission(), pace)


def record(number: int, cells: tuple[str, ...], **failures: Failure) -> LaunchRecord:
    rows = [launches.measured(cell, [launches.synchronous(0, [1e6] * 5)]) for cell in cells]
    return launches.launch(number, rows, failures=failures)


def all_launches(most: int, admission: Admission | None = None) -> tuple[list[LaunchRecord], Next]:
    records: list[LaunchRecord] = []
    while (planned := following(records, most, admission)).stopped_by is None:
        records.append(record(len(records), planned.cells))
    return records, planned


def test_every_row_is_launched_equally_often_and_the_baseline_in_each_launch() -> None:
    records, end = all_launches(3)
    counts = {name: sum(own.cell == name for each in records for own in each.cells) for name in NAMES}
    assert {counts[name] for name in NAMES[1:]} == {3}
    assert counts["a"] == len(records)
    assert end.stopped_by == "launches"


def test_a_launch_has_no_more_rows_than_the_protocol_allows() -> None:
    records, _ = all_launches(3)
    assert max(len(each.cells) for each in records) == Timing.most_cells


def test_a_row_that_cannot_run_is_not_launched() -> None:
    records, _ = all_launches(2, Admission(absent={"c": Failure("accuracy", "the loss does not fall")}))
    assert not any(own.cell == "c" for each in records for own in each.cells)


def test_without_a_row_that_can_run_it_ends_with_failures() -> None:
    absent = {name: Failure("accuracy", "the loss does not fall") for name in NAMES}
    assert following([], 2, Admission(absent=absent)).stopped_by == "failures"


@pytest.mark.parametrize(("budget_s", "stopped_by"), [(1.0, "budget"), (1e6, None)])
def test_no_launch_begins_that_would_end_after_the_budget(budget_s: float, stopped_by: str | None) -> None:
    first = record(0, ("a", "b"))
    schedule = EqualLaunches(5)
    pace = Pace(10.0, [10.0])
    planned = schedule.following(launches.group("a", "b"), [first], Timing(budget=budget_s), Admission(), pace)
    assert planned.stopped_by == stopped_by


@pytest.mark.parametrize(("names", "launches_each"), [("ab", 4), ("a", 3), (NAMES, 3)])
def test_the_launches_that_are_left_are_foreseen_after_each(names: str, launches_each: int) -> None:
    group, schedule = launches.group(*names), EqualLaunches(launches_each)
    records: list[LaunchRecord] = []
    foreseen = []
    while (
        planned := schedule.following(group, records, Timing(), Admission(), Pace(0.0, [1.0] * len(records)))
    ).stopped_by is None:
        foreseen.append(len(records) + len(schedule.ahead(group, records, Timing(), Admission())))
        records.append(record(len(records), planned.cells))
    assert foreseen == [len(records)] * len(records)
    assert not schedule.ahead(group, records, Timing(), Admission())
