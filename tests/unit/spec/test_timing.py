"""How long a worker is waited for: the deadline, and what is left of a budget that somebody gave."""

from __future__ import annotations

import pytest

from irbench.spec import Deadline, Timing


@pytest.mark.parametrize(
    ("budget_s", "elapsed_s", "waits_s"),
    [(20.0, 0.0, 30.0), (120.0, 0.0, 60.0), (120.0, 40.0, 40.0), (120.0, 500.0, 30.0)],
)
def test_half_of_what_is_left_of_a_budget_bounds_a_wait_and_never_less_than_the_floor(
    budget_s: float, elapsed_s: float, waits_s: float
) -> None:
    assert Timing().within_budget(budget_s).deadline_after(elapsed_s) == Deadline(waits_s, by_budget=True)


def test_a_share_is_of_what_is_left_of_the_budget():
    timing = Timing(budget=120.0, sized_share=0.75)
    assert timing.sized_for_s(has_interval=False) == 90.0
    assert timing.sized_for_s(has_interval=True) == 120.0
    assert timing.within_budget(60.0, 60.0).sized_for_s(has_interval=False) == 45.0
    quick = Timing(sized_for=25.0)
    assert [each.sized_for_s(has_interval=False) for each in (quick, quick.within_budget(60.0))] == [25.0, 25.0]


def test_a_long_budget_leaves_the_deadline_as_it_is() -> None:
    assert Timing().within_budget(900.0).deadline_after(0.0) == Deadline(300.0)


def test_without_a_budget_of_the_user_the_deadline_alone_counts() -> None:
    assert Timing().deadline_after(89.0) == Deadline(300.0)


def test_a_deadline_of_the_user_is_obeyed_whatever_the_budget() -> None:
    asked = Timing(deadline=300.0, deadline_by="user")
    assert asked.within_budget(20.0).deadline_after(19.0) == Deadline(300.0)


def test_workers_that_share_the_processors_have_as_many_times_as_long() -> None:
    assert Deadline(30.0).together(4) == 120.0
    assert Deadline(30.0).together(0) == 30.0


def test_a_start_may_take_half_of_what_preparing_took_however_little_is_left() -> None:
    left = Timing().within_budget(25.0, 240.0)
    assert left.deadline_after(20.0).seconds == 120.0
    assert Timing().within_budget(25.0, 10.0).deadline_after(20.0).seconds == 30.0
