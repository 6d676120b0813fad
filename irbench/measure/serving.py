"""Requests that arrive on their own: each is timed from when it was due, whether or not anybody was free for it then.

There is one queue. A slot that is free takes its first request, waits until it is due, and answers it; the next free
slot takes the request after it. So no thread stands between the arrival of a request and the slot that answers it, and
what a request waits is what it waits for slots. Who instead issues a request when the one before is answered measures
no waiting at all: Tene, "How NOT to Measure Latency" (2013), calls that coordinated omission.

Arrivals of the server scenario are a Poisson process: the times between them are independent and exponential, which is
what many independent users make. A seed fixes them, so that all rows of a launch are given the same.

Several processes have a queue each. Each request goes to one of them at random, as from a load balancer that knows
nothing of their queues: so each is given a Poisson process of its own, at an equal part of the rate (a Poisson process
whose events are marked independently falls into independent Poisson processes: Kingman, "Poisson Processes", 1993).
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import GIVEN_UP, REFUSED, ServedLoad
from irbench.errors import RequestRefused
from irbench.measure.clock import now_ns, sleep
from irbench.measure.pacing import precise_sleep, side_by_side
from irbench.spec.serving import SAMPLES_OF_QUERY, OfferedLoad, Queueing

_LEAD_NS = 20_000_000
"""From the start of the slots' threads to the first request."""
_LONGEST = 2
"""A load lasts at most so many times as long as its requests arrive."""


@dataclass(frozen=True)
class Arrivals:
    """When requests are due.

    Attributes:
        due_ns: From the first moment, int64, ascending; empty where requests follow answers.
        count: How many there are.
        together: Where they follow answers: how many arrive at a time, when all those before are answered.
        until_ns: Requests whose call has not begun by then are given up: of a load that is far too high, whoever waits
            learns nothing more. ``None`` for no end.
    """

    due_ns: NDArray[np.int64]
    count: int
    together: int = 1
    until_ns: int | None = None


def arrival_times_ns(offered: OfferedLoad) -> NDArray[np.int64]:
    """Return when requests are due, in nanoseconds from the first moment, int64; empty where they follow answers."""
    if offered.scenario == "offline":
        return np.zeros(offered.requests, np.int64)
    if offered.scenario != "server":
        return np.empty(0, np.int64)
    gaps_s = np.random.default_rng(offered.seed).exponential(1 / offered.rate_per_s, offered.requests)
    return np.round(np.cumsum(gaps_s) * 1e9).astype(np.int64)


def process_of_requests(offered: OfferedLoad, processes: int) -> NDArray[np.int64]:
    """Return which of several processes each request goes to, int64: at random, or by turns where all come at once."""
    if offered.scenario == "offline":
        return np.arange(offered.requests) % processes
    return np.random.default_rng((offered.seed, processes)).integers(processes, size=offered.requests)


def arrivals_of(offered: OfferedLoad, process: int = 0, processes: int = 1) -> Arrivals:
    """Return the requests of a load, or those that go to one of several processes."""
    due_ns = arrival_times_ns(offered)
    together = SAMPLES_OF_QUERY if offered.scenario == "multistream" else 1
    until_ns = _LONGEST * int(due_ns[-1]) if offered.scenario == "server" else None
    if processes == 1:
        return Arrivals(due_ns, offered.requests, together, until_ns)
    own_ns = due_ns[process_of_requests(offered, processes) == process]
    return Arrivals(own_ns, own_ns.size, together, until_ns)


def join_served(shares: Sequence[ServedLoad], offered: OfferedLoad) -> ServedLoad:
    """Return what several processes did with their requests of one load, in the order in which all were due.

    Slots of the first process come first, then those of the second.

    Raises:
        ValueError: A process has not told of each of its requests.
    """
    process = process_of_requests(offered, len(shares))
    columns = np.zeros((4, offered.requests), np.int64)
    first_slot = 0
    for number, share in enumerate(shares):
        own = process == number
        if share.slot.size != np.count_nonzero(own):
            raise ValueError(f"one tells of {share.slot.size} of {np.count_nonzero(own)} requests")
        slot = np.where(share.slot < 0, share.slot, share.slot + first_slot)
        columns[:, own] = share.due_ns, share.start_ns, share.end_ns, slot
        first_slot += share.slots
    due_ns, start_ns, end_ns, slot = columns
    return replace(
        shares[0], offered=offered, slots=first_slot, due_ns=due_ns, start_ns=start_ns, end_ns=end_ns, slot=slot
    )


def serve(
    calls: Sequence[Callable[[], object]],
    arrivals: Arrivals,
    offered: OfferedLoad,
    queueing: Queueing,
    batch: int = 1,
    start_ns: int | None = None,
    keep: Callable[[int, int, Any], None] | None = None,
) -> ServedLoad:
    """Answer requests as they arrive; those whose call raises :class:`~irbench.errors.RequestRefused` are refused.

    Args:
        calls: One for each slot; a call answers up to ``batch`` requests.
        arrivals: When they are due.
        offered: What is recorded of them.
        queueing: What becomes of requests that wait.
        batch: Requests that one call answers at most.
        start_ns: The first moment, in nanoseconds of the clock; ``None`` for as soon as the slots are there.
        keep: Is given the slot of each call, its first request and what it returned, once the requests are answered.

    Returns:
        What became of each request, in the order in which they were due.
    """
    queue = _Queue(arrivals, queueing, batch, now_ns() + _LEAD_NS if start_ns is None else start_ns)

    def answer(slot: int) -> None:
        try:
            while taken := queue.take(slot):
                try:
                    outputs = calls[slot]()
                except RequestRefused:
                    queue.refused(taken)
                    continue
                queue.answered(taken)
                if keep is not None:
                    keep(slot, taken[0], outputs)
                del outputs  # what was not kept must be gone before the next call, as it is in other loops
        finally:
            queue.close()

    with precise_sleep():
        side_by_side(answer, len(calls))
    return ServedLoad(
        offered, len(calls), batch, queue.due_ns, queue.start_ns, queue.end_ns, queue.slot, queueing.timeout_ms
    )


class _Queue:
    """Requests in the order in which they are due; times are from its first moment."""

    def __init__(self, arrivals: Arrivals, queueing: Queueing, batch: int, start_ns: int) -> None:
        self._arrivals, self._batch, self._zero_ns = arrivals, batch, start_ns
        self._most_waiting = queueing.most_waiting
        self._timeout_ns = None if queueing.timeout_ms is None else round(queueing.timeout_ms * 1e6)
        self._batch_wait_ns = round(queueing.batch_wait_ms * 1e6)
        self._turn = threading.Lock()
        self._all_answered = threading.Condition()
        self._next = self._answered = 0
        self._closed = False
        self._left_ns: list[int] = []
        """When requests left the queue, ascending."""
        count = arrivals.count
        self.due_ns = arrivals.due_ns.copy() if arrivals.due_ns.size else np.zeros(count, np.int64)
        self.start_ns, self.end_ns = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.slot = np.full(count, GIVEN_UP, np.int64)

    def take(self, slot: int) -> list[int]:
        """Wait for the next request, and return those that the slot's next call answers; none when all have come."""
        with self._turn:  # who waits for a request holds the turn, so that slots take requests in order
            first = self._first()
            if first is None:
                return []
            taken = self._with_others(first)
            started_ns = self._now_ns()
            self.start_ns[taken], self.slot[taken] = started_ns, slot
            self._left_ns += [started_ns] * len(taken)
            return taken

    def answered(self, requests: list[int]) -> None:
        """Record that requests were answered just now."""
        ended_ns = self._now_ns()
        self.end_ns[requests] = ended_ns
        self._count(requests)

    def refused(self, requests: list[int]) -> None:
        """Record that whoever was to answer requests had no room for them."""
        self.start_ns[requests], self.slot[requests] = 0, REFUSED
        self._count(requests)

    def _count(self, requests: list[int]) -> None:
        with self._all_answered:
            self._answered += len(requests)
            self._all_answered.notify_all()

    def close(self) -> None:
        """Hand out no further request: none is left, or a slot has failed."""
        with self._all_answered:
            self._closed = True
            self._all_answered.notify_all()

    def _first(self) -> int | None:
        while self._next < self._arrivals.count and not self._closed:
            request = self._next
            self._next += 1
            due_ns = self._await(request)
            if not self._is_dropped(request, due_ns):
                return request
        return None

    def _await(self, request: int) -> int:
        """Wait until a request is due, and return when that was."""
        if not self._arrivals.due_ns.size and request % self._arrivals.together == 0:
            with self._all_answered:
                self._all_answered.wait_for(lambda: self._closed or self._answered >= request)
            self.due_ns[request : request + self._arrivals.together] = max(0, self._now_ns())
        due_ns = int(self.due_ns[request])
        self._sleep_until(due_ns)
        return due_ns

    def _with_others(self, first: int) -> list[int]:
        """Return a request and those that a call answers with it, once the batch is full or its time is up."""
        taken = [first]
        until_ns = int(self.due_ns[first]) + self._batch_wait_ns
        while len(taken) < self._batch:
            following = self._next if self._is_known(self._next) else None
            due_ns = None if following is None else int(self.due_ns[following])
            if due_ns is None or due_ns > max(until_ns, self._now_ns()):
                self._sleep_until(until_ns)  # whoever serves cannot know that nobody comes
                break
            self._next += 1
            self._sleep_until(due_ns)
            if not self._is_dropped(self._next - 1, due_ns, len(taken)):
                taken.append(self._next - 1)
        return taken

    def _is_known(self, request: int) -> bool:
        """Whether there is such a request, and its arrival does not wait for answers."""
        follows = not self._arrivals.due_ns.size and request % self._arrivals.together == 0
        return request < self._arrivals.count and not follows

    def _is_dropped(self, request: int, due_ns: int, collected: int = 0) -> bool:
        """Whether a request was refused when it arrived, or given up since; ``collected`` others wait in a batch."""
        if self._most_waiting is not None:
            waiting = collected + len(self._left_ns) - bisect.bisect_right(self._left_ns, due_ns)
            if waiting >= self._most_waiting:
                self.slot[request] = REFUSED
                return True
        if self._arrivals.until_ns is not None and self._now_ns() > self._arrivals.until_ns:
            return True
        if self._timeout_ns is not None and self._now_ns() - due_ns > self._timeout_ns:
            bisect.insort(self._left_ns, due_ns + self._timeout_ns)
            return True
        return False

    def _now_ns(self) -> int:
        return now_ns() - self._zero_ns

    def _sleep_until(self, moment_ns: int) -> None:
        left_ns = moment_ns - self._now_ns()
        if left_ns > 0:
            sleep(left_ns / 1e9)
