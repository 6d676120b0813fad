"""Requests that arrive on their own, on a clock that the test turns by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from irbench.core.record import GIVEN_UP, REFUSED, ServedLoad
from irbench.errors import RequestRefused
from irbench.measure import serving
from irbench.measure.serving import Arrivals, arrival_times_ns, arrivals_of, join_served, serve
from irbench.spec.serving import OfferedLoad, Queueing
from irbench.stats.run_modes.serving import latency_ns

MS = 1_000_000
ANY = Queueing()


class Clock:
    """Time that passes only in sleep and in calls."""

    def __init__(self) -> None:
        self.time_ns = 0

    def now_ns(self) -> int:
        return self.time_ns

    def sleep(self, seconds: float) -> None:
        self.time_ns += round(seconds * 1e9)

    def call(self, *durations_ms: float) -> Callable[[], None]:
        """Return a call that lasts what is said; the last duration repeats."""
        left = [*durations_ms]
        return lambda: self.sleep((left.pop(0) if len(left) > 1 else left[0]) / 1e3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(serving, "now_ns", made.now_ns)
    monkeypatch.setattr(serving, "sleep", made.sleep)
    return made


def served(call: Callable[[], object], due_ms: Sequence[float], queueing: Queueing = ANY, batch: int = 1) -> ServedLoad:
    due_ns = np.array([round(due * MS) for due in due_ms], np.int64)
    return serve([call], Arrivals(due_ns, due_ns.size), OfferedLoad("server", due_ns.size, 1.0), queueing, batch)


def latencies_ms(load: ServedLoad) -> list[float]:
    return (latency_ns(load) / MS).round(3).tolist()


def test_latency_counts_from_when_a_request_was_due_also_where_a_slow_call_kept_it_waiting(clock: Clock) -> None:
    load = served(clock.call(25, 2), [0, 10, 20, 100])
    assert latencies_ms(load) == [25, 17, 9, 2]
    assert ((load.end_ns - load.start_ns) / MS).tolist() == [25, 2, 2, 2]


@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_the_mean_latency_of_a_fixed_service_time_is_that_of_an_md1_queue(clock: Clock, busy: float) -> None:
    """Pollaczek and Khinchine: s + busy * s / (2 * (1 - busy)) for a service time s."""
    service_ms, requests = 5.0, 100_000
    offered = OfferedLoad("server", requests, busy * 1e3 / service_ms, seed=7)
    arrivals = Arrivals(arrival_times_ns(offered), requests)
    load = serve([clock.call(service_ms)], arrivals, offered, ANY)
    expected_ms = service_ms + busy * service_ms / (2 * (1 - busy))
    assert float(latency_ns(load).mean()) / MS == pytest.approx(expected_ms, rel=0.03)


def served_by_instances(clock: Clock, count: int, service_ms: float, offered: OfferedLoad) -> ServedLoad:
    """Return what so many processes do with a load, each with one slot and calls that all last as long."""
    shares: list[ServedLoad] = []
    for number in range(count):
        clock.time_ns = 0
        own = arrivals_of(offered, number, count)
        shares.append(serve([clock.call(service_ms)], own, offered, ANY, start_ns=0))
    return join_served(shares, offered)


@pytest.mark.parametrize("count", [2, 4])
def test_each_of_several_instances_waits_as_one_does_at_its_part_of_the_rate(clock: Clock, count: int) -> None:
    """Pollaczek and Khinchine at the rate of each: a Poisson process divided at random is so many Poisson processes."""
    service_ms, busy = 5.0, 0.6
    offered = OfferedLoad("server", 100_000, count * busy * 1e3 / service_ms, seed=11)
    load = served_by_instances(clock, count, service_ms, offered)
    expected_ms = service_ms + busy * service_ms / (2 * (1 - busy))
    assert float(latency_ns(load).mean()) / MS == pytest.approx(expected_ms, rel=0.03)
    assert (load.due_ns == arrival_times_ns(offered)).all()
    assert sorted(np.unique(load.slot)) == list(range(count))


def test_instances_that_are_given_requests_by_turns_would_wait_less(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "process_of_requests", lambda offered, count: np.arange(offered.requests) % count)
    service_ms, busy = 5.0, 0.6
    offered = OfferedLoad("server", 100_000, 2 * busy * 1e3 / service_ms, seed=11)
    load = served_by_instances(clock, 2, service_ms, offered)
    assert float(latency_ns(load).mean()) / MS < 0.9 * (service_ms + busy * service_ms / (2 * (1 - busy)))


def test_requests_that_are_all_there_are_divided_evenly_among_instances(clock: Clock) -> None:
    load = served_by_instances(clock, 2, 10, OfferedLoad("offline", 5))
    assert load.slot.tolist() == [0, 1, 0, 1, 0]
    assert latencies_ms(load) == [10, 10, 20, 20, 30]


def test_an_instance_without_a_request_answers_none(clock: Clock) -> None:
    load = served_by_instances(clock, 4, 10, OfferedLoad("offline", 3))
    assert (load.slots, load.slot.tolist()) == (4, [0, 1, 2])


def test_requests_that_no_instance_tells_of_are_missed(clock: Clock) -> None:
    offered = OfferedLoad("offline", 5)
    first = serve([clock.call(10)], arrivals_of(offered, 0, 2), offered, ANY)
    with pytest.raises(ValueError, match="3 of 2"):
        join_served([first, first], offered)


def test_a_request_that_finds_too_many_waiting_is_refused(clock: Clock) -> None:
    load = served(clock.call(100), [0, 1, 2, 3, 150, 350], Queueing(most_waiting=2))
    assert load.slot.tolist() == [0, 0, 0, REFUSED, 0, 0]
    assert np.isinf(latency_ns(load)).tolist() == [False, False, False, True, False, False]


def test_a_request_that_waits_longer_than_the_time_out_is_given_up_and_takes_no_call(clock: Clock) -> None:
    load = served(clock.call(100, 10), [0, 5, 80], Queueing(timeout_ms=50))
    assert load.slot.tolist() == [0, GIVEN_UP, 0]


def test_an_answer_after_the_time_out_is_no_answer(clock: Clock) -> None:
    load = served(clock.call(100, 10), [0, 200], Queueing(timeout_ms=50))
    assert np.isinf(latency_ns(load)).tolist() == [True, False]


def test_a_call_answers_the_requests_that_wait_up_to_its_batch(clock: Clock) -> None:
    load = served(clock.call(10), [0, 1, 2, 3, 4, 5], batch=4)
    assert (load.start_ns / MS).tolist() == [0, 10, 10, 10, 10, 20]


def test_a_call_waits_for_its_batch_no_longer_than_allowed_and_not_once_it_is_full(clock: Clock) -> None:
    load = served(clock.call(10), [0, 3, 4, 100, 120], Queueing(batch_wait_ms=8), batch=3)
    assert (load.start_ns / MS).tolist() == [4, 4, 4, 108, 128]


def test_requests_that_follow_answers_arrive_when_all_those_before_are_answered(clock: Clock) -> None:
    arrivals = Arrivals(np.empty(0, np.int64), 4, together=2)
    load = serve([clock.call(10)], arrivals, OfferedLoad("multistream", 4), ANY)
    assert ((load.due_ns - load.due_ns[0]) / MS).tolist() == [0, 0, 20, 20]
    assert latencies_ms(load) == [10, 20, 10, 20]


def test_a_call_answers_no_request_that_follows_its_answer(clock: Clock) -> None:
    arrivals = Arrivals(np.empty(0, np.int64), 6)
    load = serve([clock.call(10)], arrivals, OfferedLoad("single", 6), ANY, batch=4)
    assert latencies_ms(load) == [10] * 6


def test_requests_of_a_load_that_is_far_too_high_are_given_up_after_a_while(clock: Clock) -> None:
    due_ns = np.arange(100, dtype=np.int64) * MS
    load = serve([clock.call(10)], Arrivals(due_ns, 100, until_ns=200 * MS), OfferedLoad("server", 100, 1e3), ANY)
    assert int((load.slot >= 0).sum()) == 21
    assert (load.slot[21:] == GIVEN_UP).all()


def test_slots_answer_side_by_side_and_each_request_once() -> None:
    met = threading.Barrier(2, timeout=10)
    due_ns = np.zeros(8, np.int64)
    calls = [lambda: met.wait()] * 2
    load = serve(calls, Arrivals(due_ns, 8), OfferedLoad("offline", 8), ANY)
    assert sorted(load.slot.tolist()) == [0] * 4 + [1] * 4
    assert (load.end_ns >= load.start_ns).all()


def test_a_call_that_fails_ends_the_load_with_its_error_however_many_slots_wait() -> None:
    def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        serve([fail, fail], Arrivals(np.empty(0, np.int64), 6), OfferedLoad("single", 6), ANY)


def test_arrivals_have_the_mean_rate_and_are_those_of_their_seed() -> None:
    first, again, other = (arrival_times_ns(OfferedLoad("server", 50_000, 200.0, seed=seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()
    gaps_s = np.diff(first) / 1e9
    assert gaps_s.mean() == pytest.approx(1 / 200, rel=0.02)
    assert gaps_s.std() == pytest.approx(1 / 200, rel=0.03)


def refusing(clock: Clock, *refused: int) -> Callable[[], None]:
    """Return a call of 5 ms that is refused at these places."""
    calls = iter(range(1_000))

    def call() -> None:
        clock.sleep(0.005)
        if next(calls) in refused:
            raise RequestRefused("full")

    return call


def test_a_request_that_whoever_answers_refuses_counts_as_refused_and_the_next_are_answered(clock: Clock) -> None:
    load = served(refusing(clock, 1, 2), [0, 10, 20, 30])
    assert load.slot.tolist() == [0, REFUSED, REFUSED, 0]
    assert load.start_ns[1] == load.end_ns[1] == 0
    assert np.isfinite(latency_ns(load)).tolist() == [True, False, False, True]


def test_requests_that_follow_answers_follow_refusals_too(clock: Clock) -> None:
    arrivals = Arrivals(np.empty(0, np.int64), 3)
    load = serve([refusing(clock, 0)], arrivals, OfferedLoad("single", 3), ANY)
    assert load.slot.tolist() == [REFUSED, 0, 0]


def test_what_calls_return_is_offered_once_their_requests_are_answered(clock: Clock) -> None:
    kept: list[tuple[int, int, object]] = []
    answers = iter("abcd")
    due_ns = np.array([0, 0, 10 * MS, 20 * MS], np.int64)
    serve(
        [lambda: next(answers)], Arrivals(due_ns, 4), OfferedLoad("server", 4, 1.0), ANY, 2,
        keep=lambda *call: kept.append(call),
    )  # fmt: skip
    assert kept == [(0, 0, "a"), (0, 2, "b"), (0, 3, "c")]
