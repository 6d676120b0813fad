"""Calls at a constant pace, on a clock that the test turns by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import chain, repeat

import numpy as np
import pytest

from irbench.measure import pacing
from irbench.measure.pacing import CallSchedule, issue_on_schedule, join_paced

MS = 1_000_000


class Clock:
    """Time that passes only in sleep and in calls; each thread has its own."""

    def __init__(self) -> None:
        self._own = threading.local()

    def now_ns(self) -> int:
        return int(getattr(self._own, "now_ns", 0))

    def sleep(self, seconds: float) -> None:
        self._own.now_ns = self.now_ns() + round(seconds * 1e9)

    def call(self, *durations_ms: float) -> Callable[[], None]:
        """Return a call that lasts what is said; the last duration repeats."""
        left = chain(durations_ms, repeat(durations_ms[-1]))
        return lambda: self.sleep(next(left) / 1e3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(pacing, "now_ns", made.now_ns)
    monkeypatch.setattr(pacing, "sleep", made.sleep)
    return made


def test_calls_are_issued_when_they_are_due_however_long_they_take(clock: Clock) -> None:
    schedule = CallSchedule(5 * MS, 10 * MS, 4)
    run = join_paced([issue_on_schedule([clock.call(1, 1, 9, 2, 3, 4)], schedule)], schedule)
    assert run.issue_ns.tolist() == [0, 10 * MS, 20 * MS, 30 * MS]
    assert (run.completion_ns - run.issue_ns).tolist() == [9 * MS, 2 * MS, 3 * MS, 4 * MS]
    assert (run.pace_ns, run.concurrency) == (10 * MS, 1)


def test_the_first_calls_are_not_timed(clock: Clock) -> None:
    schedule = CallSchedule(0, 10 * MS, 2)
    run = join_paced([issue_on_schedule([clock.call(7, 7, 1)], schedule)], schedule)
    assert (run.completion_ns - run.issue_ns).tolist() == [MS, MS]


def test_a_call_that_is_due_while_the_one_before_runs_is_issued_when_that_has_ended(clock: Clock) -> None:
    schedule = CallSchedule(0, 10 * MS, 4)
    run = join_paced([issue_on_schedule([clock.call(1, 1, 25, 2)], schedule)], schedule)
    assert run.issue_ns.tolist() == [0, 25 * MS, 27 * MS, 30 * MS]


def test_slots_and_processes_take_turns(clock: Clock) -> None:
    schedule = CallSchedule(0, 10 * MS, 8, processes=2, slots=2)
    shares = [issue_on_schedule([clock.call(30), clock.call(30)], schedule, process) for process in range(2)]
    assert not set(shares[0][:, 0]) & set(shares[1][:, 0])
    run = join_paced(shares, schedule)
    assert run.issue_ns.tolist() == [number * 10 * MS for number in range(8)]
    assert set(run.completion_ns - run.issue_ns) == {30 * MS}
    assert run.concurrency == 4


def test_what_fails_on_a_thread_is_raised(clock: Clock) -> None:
    def fail() -> None:
        raise RuntimeError("device lost")

    with pytest.raises(RuntimeError, match="device lost"):
        issue_on_schedule([clock.call(1), fail], CallSchedule(0, MS, 2, slots=2))


def test_sleep_ends_no_earlier_than_asked() -> None:
    schedule = CallSchedule(pacing.start_soon(), 2 * MS, 5)
    run = join_paced([issue_on_schedule([lambda: None], schedule)], schedule)
    assert np.all(run.issue_ns >= run.pace_ns * np.arange(5))
