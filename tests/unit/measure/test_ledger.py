"""The window that several processes share: when it opens, how long they go on, and what is counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from irbench.measure.ledger import CommonWindow, SharedLedger, WindowCounters, joined_window


def regular(period_ns: int, calls: int, begin_ns: int = 0) -> NDArray[np.int64]:
    """Return issue and completion of calls back to back."""
    ends = begin_ns + period_ns * np.arange(1, calls + 1, dtype=np.int64)
    return np.stack([ends - period_ns, ends], axis=1)


def test_two_processes_complete_twice_as_much_as_one() -> None:
    window = joined_window([regular(100, 20), regular(100, 20, 50)], CommonWindow(0, settle_calls=2, calls=5))
    assert window.completion_ns[-1] / window.completion_ns.size == 50
    assert set(window.completion_ns - window.issue_ns) == {100}


@pytest.mark.parametrize("reference", [0, 1])
def test_a_slow_process_counts_for_what_it_completes(reference: int) -> None:
    times = [regular(100, 90), regular(400, 30)]
    window = joined_window(times, CommonWindow(reference, settle_calls=1, calls=20 if reference == 0 else 5))
    assert window.completion_ns[-1] / window.completion_ns.size == 80


@pytest.mark.parametrize(("reference", "completions"), [(0, [10, 100, 110, 200]), (1, [90, 100, 190, 200])])
def test_the_window_opens_at_a_completion_of_the_reference_when_all_have_settled(
    reference: int, completions: list[int]
) -> None:
    early, late = regular(100, 30), regular(100, 20, 1010)
    # the late one settles at 1310, while a call of the early one is in flight
    window = joined_window([early, late], CommonWindow(reference, settle_calls=3, calls=2))
    assert window.completion_ns.tolist() == completions
    assert window.issue_ns.tolist() == [completion - 100 for completion in completions]


def test_processes_that_do_not_run_at_the_same_time_have_no_window() -> None:
    with pytest.raises(ValueError, match="only 0 of 2"):
        joined_window([regular(100, 5), regular(100, 5, 10_000)], CommonWindow(0, settle_calls=3, calls=2))


def test_an_instance_that_made_too_few_calls_to_settle_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer than 3 calls"):
        joined_window([regular(100, 20), regular(100, 2)], CommonWindow(0, settle_calls=3, calls=2))


def test_a_window_in_which_no_time_passes_is_refused() -> None:
    at_once = np.array([[0, 5]] * 20, np.int64)
    with pytest.raises(ValueError, match="follow"):
        joined_window([at_once, regular(1, 4)], CommonWindow(0, settle_calls=1, calls=2))


@pytest.mark.parametrize("scatter", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(("processes", "calls"), [(2, 4), (4, 4), (4, 12)])
def test_short_windows_are_as_long_as_what_completes_in_them(scatter: float, processes: int, calls: int) -> None:
    chance, settle, rounds = np.random.default_rng(processes), 2, 3000
    found_ns: list[float] = []
    for number in range(rounds):
        durations_ns = 1e6 * np.exp(chance.normal(0, scatter, (processes, 3 * calls + 40)))
        ends = np.cumsum(durations_ns, axis=1).astype(np.int64)  # all begin at the same time
        times = [np.stack([own - 1, own], axis=1) for own in ends]
        window = joined_window(times, CommonWindow(number % processes, settle, calls))
        found_ns.append(window.completion_ns[-1] / window.completion_ns.size)
    assert np.mean(found_ns) == pytest.approx(1e6 * np.exp(scatter**2 / 2) / processes, rel=0.012)


def test_the_parts_of_calls_stay_with_them() -> None:
    tokens_ns = np.array([[30, 100]])
    times = [
        np.hstack([own, np.repeat(tokens_ns * place, len(own), axis=0)])
        for place, own in enumerate((regular(100, 20), regular(100, 20, 50)), start=1)
    ]
    window = joined_window(times, CommonWindow(0, settle_calls=2, calls=5))
    assert window.part_ns.reshape(-1, 2).tolist() == [[60, 200], [30, 100]] * 5
    assert window.part_ns.size == 2 * window.issue_ns.size


@pytest.fixture
def descriptor() -> Iterator[int]:
    made = os.memfd_create("test")
    os.ftruncate(made, WindowCounters.size_bytes(3))
    yield made
    os.close(made)


def driven(descriptor: int, order: Sequence[int], window: CommonWindow) -> list[int]:
    """Let three processes complete calls in this order, over and over, and return how many each made."""
    ledgers = [SharedLedger(WindowCounters(descriptor, 3), process, window) for process in range(3)]
    wanted = [True] * 3
    now_ns = 0
    while any(wanted):
        for process in order:
            now_ns += 1
            if wanted[process]:
                wanted[process] = ledgers[process].complete(now_ns - 1, now_ns)
    return [len(ledger.times_ns()) for ledger in ledgers]


def test_nobody_stops_before_all_have_settled_and_the_reference_has_made_its_calls(descriptor: int) -> None:
    made = driven(descriptor, [0, 1, 2], CommonWindow(1, settle_calls=4, calls=10))
    assert min(made) >= 4 + 1 + 10
    assert max(made) - min(made) <= 1


def test_all_go_on_until_the_window_closes(descriptor: int) -> None:
    made = driven(descriptor, [0, 0, 0, 0, 1, 2], CommonWindow(2, settle_calls=1, calls=15))
    assert made[2] <= 1 + 1 + 15 + 2, "the reference went on after the window had closed"
    assert made[0] >= 4 * made[1] - 4, "a fast one stopped early, and left the machine to others"


def test_a_new_run_begins_from_nothing(descriptor: int) -> None:
    window = CommonWindow(0, settle_calls=2, calls=12)
    first = driven(descriptor, [0, 1, 2], window)
    WindowCounters(descriptor, 3).reset()
    assert driven(descriptor, [0, 1, 2], window) == first
    assert WindowCounters(descriptor, 3).done(0) == first[0]


def test_what_is_driven_is_enough_for_the_window(descriptor: int) -> None:
    window = CommonWindow(1, settle_calls=3, calls=6)
    ledgers = [SharedLedger(WindowCounters(descriptor, 3), process, window) for process in range(3)]
    wanted, now_ns = [True] * 3, 0
    while any(wanted):
        for process in range(3):
            now_ns += 10 + process
            if wanted[process]:
                wanted[process] = ledgers[process].complete(now_ns - 30, now_ns)
    joined = joined_window([ledger.times_ns() for ledger in ledgers], window)
    assert joined.completion_ns.size == 3 * 6


def test_a_process_whose_request_failed_wants_no_more(descriptor: int) -> None:
    ledger = SharedLedger(WindowCounters(descriptor, 3), 0, CommonWindow(0, 1, 10))
    ledger.abandon()
    assert not ledger.complete(0, 1)
