"""The window that several processes share: when it opens, how long they go on, and what is counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from irbench.measure.ledger import Counters, SharedLedger, joined_window


def regular(period_ns: int, calls: int, begin_ns: int = 0) -> NDArray[np.int64]:
    """Return issue and completion of calls back to back."""
    ends = begin_ns + period_ns * np.arange(1, calls + 1, dtype=np.int64)
    return np.stack([ends - period_ns, ends], axis=1)


def test_two_processes_complete_twice_as_much_as_one() -> None:
    window = joined_window([regular(100, 20), regular(100, 20, 50)], settle_calls=2, samples=10)
    assert window.completion_ns[-1] / window.completion_ns.size == 50
    assert set(window.completion_ns - window.issue_ns) == {100}


def test_a_slow_process_counts_for_what_it_completes() -> None:
    window = joined_window([regular(100, 90), regular(400, 30)], settle_calls=1, samples=50)
    assert window.completion_ns[-1] / window.completion_ns.size == 80


def test_the_window_opens_when_the_last_process_has_settled() -> None:
    early, late = regular(100, 30), regular(100, 20, 1010)
    window = joined_window([early, late], settle_calls=3, samples=4)
    # the late one settles at 1310, while a call of the early one is in flight
    assert window.completion_ns.tolist() == [90, 100, 190, 200]
    assert window.issue_ns.tolist() == [-10, 0, 90, 100]


def test_processes_that_do_not_run_at_the_same_time_have_no_window() -> None:
    with pytest.raises(ValueError, match="only 2 of 4"):
        joined_window([regular(100, 5), regular(100, 5, 10_000)], settle_calls=3, samples=4)


@pytest.fixture
def descriptor() -> Iterator[int]:
    made = os.memfd_create("test")
    os.ftruncate(made, Counters.size_bytes(3))
    yield made
    os.close(made)


def driven(descriptor: int, order: Sequence[int], samples: int, settle_calls: int) -> list[int]:
    """Let three processes complete calls in this order, over and over, and return how many each made."""
    ledgers = [SharedLedger(Counters(descriptor, 3), process, samples, settle_calls) for process in range(3)]
    wanted = [True] * 3
    now_ns = 0
    while any(wanted):
        for process in order:
            now_ns += 1
            if wanted[process]:
                wanted[process] = ledgers[process].complete(now_ns - 1, now_ns)
    return [len(ledger.times_ns()) for ledger in ledgers]


def test_nobody_stops_before_all_have_settled_and_enough_was_completed(descriptor: int) -> None:
    made = driven(descriptor, [0, 1, 2], samples=30, settle_calls=4)
    assert sum(made) >= 3 * 4 + 30
    assert max(made) - min(made) <= 1


def test_all_go_on_until_the_window_closes(descriptor: int) -> None:
    made = driven(descriptor, [0, 0, 0, 0, 1, 2], samples=60, settle_calls=1)
    assert sum(made) <= 6 + 60 + 6, "somebody went on after the window had closed"
    assert made[0] >= 3 * made[1], "somebody stopped early, and left the rest to others"


def test_a_new_run_begins_from_nothing(descriptor: int) -> None:
    first = driven(descriptor, [0, 1, 2], samples=12, settle_calls=2)
    Counters(descriptor, 3).reset()
    assert driven(descriptor, [0, 1, 2], samples=12, settle_calls=2) == first


def test_a_process_whose_request_failed_wants_no_more(descriptor: int) -> None:
    ledger = SharedLedger(Counters(descriptor, 3), 0, 10, 1)
    ledger.abandon()
    assert not ledger.complete(0, 1)
