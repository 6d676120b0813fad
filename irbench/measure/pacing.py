"""Calls at a constant pace: each is issued when it is due, however long the one before took, unless that still runs."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import PacedRun
from irbench.measure.clock import now_ns, sleep

_PR_SET_TIMERSLACK = 29
_NO_SLACK_NS, _USUAL_SLACK = 1, 0
_UNTIMED_CALLS = 2
"""Of each slot, at the pace, before those that count: the first call after other work is not what a gap makes of it."""
_LEAD_NS = 20_000_000
"""From asking for a run to its first call: several processes must have been told by then."""


@dataclass(frozen=True)
class CallSchedule:
    """When calls are due, and who makes which of them.

    Attributes:
        start_ns: When the first call is due, in nanoseconds of the clock.
        pace_ns: From one call's due time to that of the next.
        calls: How many are timed; a multiple of the slots of all processes.
        processes: How many take turns.
        slots: Of each process.
    """

    start_ns: int
    pace_ns: int
    calls: int
    processes: int = 1
    slots: int = 1

    @property
    def concurrency(self) -> int:
        """Slots of all processes, which take turns."""
        return self.processes * self.slots

    @property
    def untimed_calls(self) -> int:
        """How many calls come before those that are timed."""
        return _UNTIMED_CALLS * self.concurrency

    def own(self, process: int, slot: int) -> range:
        """Return the numbers of the calls that a slot makes, counted from 0, untimed ones included."""
        first = slot * self.processes + process
        return range(first, self.untimed_calls + self.calls, self.concurrency)


def start_soon() -> int:
    """Return when a run that is asked for now should begin, in nanoseconds of the clock."""
    return now_ns() + _LEAD_NS


def issue_on_schedule(
    calls: Sequence[Callable[[], object]], schedule: CallSchedule, process: int = 0
) -> NDArray[np.int64]:
    """Make the calls of one process.

    Returns:
        Number, issue and completion of each call, in nanoseconds of the clock; int64 of shape (calls, 3).
    """
    times: list[tuple[int, int, int]] = []
    with precise_sleep():
        times += _side_by_side(calls, schedule, process)
    return np.array(times, np.int64).reshape(-1, 3)


def join_paced(times_ns: Sequence[NDArray[np.int64]], schedule: CallSchedule) -> PacedRun:
    """Return what all processes did as one run, without its untimed calls."""
    merged = np.concatenate(times_ns)
    timed = merged[np.argsort(merged[:, 0])][schedule.untimed_calls :]
    begin_ns = schedule.start_ns + schedule.untimed_calls * schedule.pace_ns
    return PacedRun(
        schedule.pace_ns, schedule.concurrency, (timed[:, 1] - begin_ns).copy(), (timed[:, 2] - begin_ns).copy()
    )


def _side_by_side(
    calls: Sequence[Callable[[], object]], schedule: CallSchedule, process: int
) -> Iterator[tuple[int, int, int]]:
    by_slot: list[list[tuple[int, int, int]]] = [[] for _ in calls]

    def make_calls(slot: int) -> None:
        by_slot[slot] = _calls_of_slot(calls[slot], schedule, schedule.own(process, slot))

    side_by_side(make_calls, len(calls))
    return (times for slot in by_slot for times in slot)


def side_by_side(work: Callable[[int], None], slots: int) -> None:
    """Have each slot work in a thread of its own, and raise what one of them raised; a single one needs no thread."""
    if slots == 1:
        work(0)
        return
    failures: list[BaseException] = []

    def guarded(slot: int) -> None:
        try:
            work(slot)
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(slot,)) for slot in range(slots)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _calls_of_slot(call: Callable[[], object], schedule: CallSchedule, numbers: range) -> list[tuple[int, int, int]]:
    times: list[tuple[int, int, int]] = []
    for number in numbers:
        left_ns = schedule.start_ns + number * schedule.pace_ns - now_ns()
        if left_ns > 0:
            sleep(left_ns / 1e9)
        issued_at = now_ns()
        call()
        times.append((number, issued_at, now_ns()))
    return times


@contextmanager
def precise_sleep() -> Iterator[None]:
    """Have the kernel wake this thread, and those that it starts, when they are due, and not up to 50 us later."""
    if sys.platform != "linux":
        yield
        return
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_TIMERSLACK, _NO_SLACK_NS)
    try:
        yield
    finally:
        prctl(_PR_SET_TIMERSLACK, _USUAL_SLACK)
