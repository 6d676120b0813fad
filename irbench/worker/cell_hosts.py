"""One cell of a run: its rounds, and the uninterrupted runs beside them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from irbench.core.record import Evidence, PacedRun, ServedLoad, ServerTimes, Sustained
from irbench.measure.call_parts import part_times_ns, timed_in_turns
from irbench.measure.drive import complete_call
from irbench.measure.kernel_evidence import evidence_between, read_counters, resident_bytes
from irbench.measure.ledger import CommonWindow, SharedLedger, WindowCounters
from irbench.measure.pacing import CallSchedule, issue_on_schedule, join_paced, start_soon
from irbench.measure.serving import Arrivals, arrivals_of, process_of_requests, serve
from irbench.spec.serving import OfferedLoad, Queueing
from irbench.spec.training import BEGINNING_CALLS
from irbench.worker.cell import CellHost, CellTask, Response, ServedSession
from irbench.worker.inference import arrays_of, size_bytes
from irbench.worker.warming import median_completion_ns

if TYPE_CHECKING:
    from irbench.measure.drive import FollowingDriver
    from irbench.worker.training import TrainingSlot


class RunHost(CellHost):
    """Holds one cell's session, as any host does, and runs it without interruption too."""

    _tells_private_memory = True

    def alone(self, seconds: float, samples: int | None = None, first: int = 0) -> Sustained:
        """Run uninterrupted for about ``seconds`` and count completions.

        Where inputs take turns, the run has so many ``samples`` instead, and begins with the input at place ``first``.
        """
        assert self._driver is not None
        pilot = self._driver.drive(self._fewest)
        if samples is None:
            samples = max(self._fewest, math.ceil(seconds * 1e9 / median_completion_ns(pilot, len(self._slots))))
        window = self._driver.drive(samples, first=first)
        completions = window.completion_ns.size * self._calls_per_sample
        return Sustained(self._task.cell.id, completions, int(window.completion_ns[-1]))

    def tail(self, calls: int, settle_calls: int, first: int = 0) -> NDArray[np.int64]:
        """Take ``calls`` uninterrupted calls and return each one's latency in nanoseconds, int64.

        One call is one sample here whatever its length: a tail cannot be read from means.
        """
        assert self._driver is not None
        driver = self._driver
        if self._calls_per_sample > 1:
            driver = self._make_driver()
        window = driver.drive(calls, settle_calls, first)
        return window.completion_ns - window.issue_ns

    def beginnings(self) -> dict[str, NDArray[np.int64]]:
        """Time the beginnings of a training step, by turns; nothing where it cannot be divided.

        Returns:
            Nanoseconds of each call, int64, by what a beginning adds to the one before.
        """
        (slot,) = self._slots
        session = cast("TrainingSlot", slot).session
        return timed_in_turns(session.beginnings, BEGINNING_CALLS)

    def paced(self, pace_ns: int, calls: int, first: int = 0) -> PacedRun:
        """Issue so many calls at a constant pace, after a few untimed ones.

        Args:
            pace_ns: From one call to the next, in nanoseconds.
            calls: How many are timed; a multiple of the streams.
            first: Place of the input of the first timed call, where inputs take turns.
        """
        schedule = CallSchedule(start_soon(), pace_ns, calls, slots=len(self._slots))
        return join_paced([self._on_schedule(schedule, first)], schedule)

    def _on_schedule(self, schedule: CallSchedule, first: int, process: int = 0) -> NDArray[np.int64]:
        for turns in self._turns:
            turns.begin(first - schedule.untimed_calls // schedule.processes)
        return issue_on_schedule(self._calls(), schedule, process)

    def _calls(self) -> list[Callable[[], object]]:
        if self._turning:
            return [complete_call(slot, (), "copy") for slot in self._turning]
        io = self._task.cell.io
        return [complete_call(slot, feed, io) for slot, feed in zip(self._slots, self._feeds, strict=True)]


_SERVER_COUNTS = ("answers", "queue_ns", "compute_ns")


_MOST_KEPT = 32
"""Outputs of a load that are compared with the reference."""
_KEPT_BYTES = 64 << 20
"""What they take together at most, where that leaves two."""
_COPIED_BYTES = 1 << 20
"""Outputs that take more are not copied during a load: requests behind them would wait for it."""


class ServingHost(RunHost):
    """Holds one cell's session, as for a run, and gives it requests as they arrive."""

    def __init__(self, task: CellTask) -> None:
        super().__init__(task)
        self._kept: list[Response] = []

    def serve(self, offered: OfferedLoad, queueing: Queueing) -> ServedLoad:
        """Answer requests as they arrive, after a few untimed calls: the first one after other work is slower."""
        self._settle()
        before = self._server_times()
        load = self._serve(arrivals_of(offered), offered, queueing, range(offered.requests))
        after = self._server_times()
        if before is None or after is None:
            return load
        answers, queue_ns, compute_ns = (getattr(after, name) - getattr(before, name) for name in _SERVER_COUNTS)
        return replace(load, server=ServerTimes(answers, queue_ns, compute_ns))

    def responses(self, right: Collection[str]) -> tuple[Response, ...]:
        """Return outputs of the last load, of requests all over it, in their order; see :meth:`last_responses`.

        Where none were kept, they are those of the last call of each slot.
        """
        kept, self._kept = self._kept, []
        if not kept:
            return tuple(last for slot in range(len(self._slots)) for last in self.last_responses(slot, right))
        in_order = sorted(kept, key=lambda response: response.request or 0)
        return self._unknown((replace(own, outputs=arrays_of(own.outputs)) for own in in_order), right)

    def _serve(
        self,
        arrivals: Arrivals,
        offered: OfferedLoad,
        queueing: Queueing,
        requests: Sequence[int],
        start_ns: int | None = None,
    ) -> ServedLoad:
        """Answer requests, and keep outputs of some in no time that counts for any; ``requests`` are their numbers.

        A backend's outputs stay as they are (:meth:`irbench.spi.Slot.fetch`). A function of the user's may write the
        next ones into the same memory, so these are copied, once the request is answered and where that is quick.
        """
        self._kept = kept = []
        program = self._task.cell.program
        copies = program is not None and program.kind == "callable"
        size = size_bytes(self._slots[0].fetch())
        most = 0 if copies and size > _COPIED_BYTES else max(2, min(_MOST_KEPT, _KEPT_BYTES // size))
        stride, following = math.ceil(len(requests) / most) if most else 0, 0

        def keep(slot: int, request: int, outputs: Any) -> None:
            nonlocal following
            if request < following or outputs is None:  # bound outputs are never fetched
                return
            following = request + stride
            call = self._call_of(slot)
            if call is not None:
                own = tuple(map(np.array, outputs)) if copies else outputs
                kept.append(Response(own, call, requests[request]))

        batch = self._task.cell.load.batch
        return serve(self._calls(), arrivals, offered, queueing, batch, start_ns, keep if most else None)

    def _settle(self) -> None:
        assert self._driver is not None
        with self._retrying():
            self._driver.drive(self._fewest)

    def _server_times(self) -> ServerTimes | None:
        return self._session.server_times() if isinstance(self._session, ServedSession) else None


@dataclass(frozen=True)
class Place:
    """Which of a cell's processes one is.

    Attributes:
        descriptor: Of the memory in which all of them count their completions.
    """

    number: int
    descriptor: int


@dataclass(frozen=True)
class Share:
    """What one process did in a common window.

    Attributes:
        times_ns: Issue and completion of each request, in nanoseconds of the clock that all processes share, and when
            each of its parts was complete after its begin; int64 of shape (requests, 2 + parts), by completion. Those
            before the window opened and after it closed are included.
    """

    times_ns: NDArray[np.int64]
    evidence: Evidence


class InstanceHost(ServingHost):
    """Holds one process's session of a cell that several processes run."""

    def __init__(self, task: CellTask, place: Place) -> None:
        super().__init__(task)
        self._place = place
        self._counters = WindowCounters(place.descriptor, task.cell.load.instances)
        self._arrivals: Arrivals | None = None
        self._requests: Sequence[int] = ()
        os.close(place.descriptor)  # what is mapped stays

    def take_share(self, window: CommonWindow, first: int = 0) -> Share:
        """Issue requests until the common window has closed.

        Args:
            window: When it opens and closes.
            first: Place of the input that the window begins with, where inputs take turns: each process is given the
                same number of them, one after the other, and all of them together those that one process would be.
        """
        assert self._driver is not None
        number = self._place.number
        ledger = SharedLedger(self._counters, number, window, self._task.cell.load.streams)
        before = read_counters()
        cast("FollowingDriver", self._driver).follow(ledger, first + number * window.calls - window.settle_calls)
        evidence = evidence_between(before, read_counters())
        times_ns = ledger.times_ns()
        times_ns = times_ns[np.argsort(times_ns[:, 1], kind="stable")]
        self._require_finished(int(times_ns[-1, 1] - times_ns[0, 0]), len(times_ns))
        part_ns = part_times_ns(self._slots, len(times_ns)).reshape(len(times_ns), -1)
        return Share(np.hstack([times_ns, part_ns]), evidence)

    def take_paced_share(self, schedule: CallSchedule, first: int = 0) -> NDArray[np.int64]:
        """Make this process's calls of a schedule that all of them share.

        Returns:
            Number, issue and completion of each call, in nanoseconds of the clock; int64 of shape (calls, 3).
        """
        number = self._place.number
        return self._on_schedule(schedule, first + number * (schedule.calls // schedule.processes), number)

    def expect_share(self, offered: OfferedLoad) -> None:
        """Get ready for this process's requests of a load, with a few untimed calls."""
        self._settle()
        processes = self._task.cell.load.instances
        self._arrivals = arrivals_of(offered, self._place.number, processes)
        self._requests = np.flatnonzero(process_of_requests(offered, processes) == self._place.number).tolist()

    def serve_share(self, offered: OfferedLoad, queueing: Queueing, start_ns: int) -> ServedLoad:
        """Answer the requests that this process was told to expect.

        Args:
            offered: The load of all processes.
            queueing: What becomes of requests that wait for this process.
            start_ns: The first moment of the load, in nanoseconds of the clock that all processes share.
        """
        assert self._arrivals is not None
        return self._serve(self._arrivals, offered, queueing, self._requests, start_ns)


@dataclass(frozen=True)
class SoakBlock:
    """One block of calls.

    Attributes:
        calls: How many were made, settle calls included.
        median_ns: Median latency of a call, in nanoseconds.
        resident_bytes: The process's resident memory after the last call; ``None`` where the kernel does not report it.
    """

    calls: int
    wall_ns: int
    median_ns: int
    resident_bytes: int | None


class SoakHost(CellHost):
    """Holds one cell's session, as for a run, and calls it in blocks."""

    def __init__(self, task: CellTask) -> None:
        super().__init__(task)
        self._blocks = 0

    def block(self, samples: int) -> SoakBlock:
        """Take so many samples, and read the memory when the last one has ended.

        Inputs that take turns go on where those of the last block ended; blocks are of the same length.
        """
        streams, calls_per_sample = self._task.cell.load.streams, self._calls_per_sample
        first = self._blocks * samples * calls_per_sample
        round_ = self.take_round(self._blocks, samples, settle_calls=1, first=first)
        self._blocks += 1
        # besides the samples: one call of each stream before the window opens, and what is in flight when it closes
        calls = samples * calls_per_sample + 2 * streams - 1
        median_ns = round(float(np.median(round_.latency_ns)) / calls_per_sample)
        return SoakBlock(calls, round_.evidence.wall_ns, median_ns, resident_bytes())
