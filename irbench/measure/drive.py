"""Driving slots: the loops inside which every sample of irbench is taken, and what slots are given call by call.

A driver keeps a fixed number of requests going, lets them settle, and returns the
issue and completion times of exactly as many samples as were asked for. Nothing is
printed, allocated by us or polled between the clock readings of a synchronous driver.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from queue import SimpleQueue
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from irbench.measure.clock import now_ns
from irbench.measure.ledger import Ledger, Window, WindowLedger
from irbench.spec import Io
from irbench.spi import Array, AsyncSlot, Feed, Outputs, Slot


class Turns(Protocol):
    """The feeds of consecutive calls."""

    def begin(self, position: int) -> None:
        """Start again: the next feed is that of the sample at ``position``, counted on over the end of the samples."""
        ...

    def next(self) -> Feed:
        """Return the next call's feed."""
        ...

    def take(self, outputs: Outputs, /) -> None:
        """Take the outputs of the call that was given the last feed."""
        ...


class SampleTurns:
    """Samples one after the other, from the beginning again after the last; several threads may share them."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = tuple(feeds)
        self._order = cycle(self._feeds)

    def begin(self, position: int) -> None:
        """Start at a sample; see :class:`Turns`."""
        start = position % len(self._feeds)
        self._order = cycle(self._feeds[start:] + self._feeds[:start])

    def place_of(self, feed: Feed) -> int:
        """Return the place of a feed that was given out."""
        return next(place for place, own in enumerate(self._feeds) if own is feed)

    def next(self) -> Feed:
        """Return the next sample."""
        return next(self._order)

    def take(self, outputs: Outputs, /) -> None:
        """Do nothing: no sample depends on outputs."""


class Loop:
    """Samples in turn, in which some inputs are outputs of the call before.

    Args:
        feeds: The samples; each holds the initial values of the inputs that are fed back.
        fed_back: Places of outputs by the places of the inputs that they become.
        permutations: Orders of axes by the places of those inputs that an output must be transposed for.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        fed_back: Mapping[int, int],
        permutations: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        self._samples = SampleTurns(feeds)
        self._fed_back = tuple(fed_back.items())
        self._permutations = dict(permutations or {})
        self._state: dict[int, Array] = {}

    def begin(self, position: int) -> None:
        """Start at a sample with the initial values; see :class:`Turns`."""
        self._samples.begin(position)
        self._state = {}

    def next(self) -> Feed:
        """Return the next sample with the last outputs in it."""
        feed = self._samples.next()
        if not self._state:
            return feed
        return tuple(self._state.get(place, array) for place, array in enumerate(feed))

    def take(self, outputs: Outputs, /) -> None:
        """Keep the outputs that the next call is given."""
        self._state = {place: self._as_input(place, outputs[output]) for place, output in self._fed_back}

    def _as_input(self, place: int, output: Array) -> Array:
        order = self._permutations.get(place)
        return np.asarray(output if order is None else output.transpose(order), order="C")


def turning_slot(slot: Slot, turns: Turns) -> TurningSlot:
    """Return a slot that stages what ``turns`` give it, whatever it is given, and lets them take the outputs."""
    return _AsyncTurningSlot(slot, turns) if isinstance(slot, AsyncSlot) else TurningSlot(slot, turns)


class TurningSlot:
    """A slot whose inputs change from call to call.

    Attributes:
        turns: Gives it the inputs.
        given: The inputs of its last call; empty before the first.
    """

    def __init__(self, slot: Slot, turns: Turns) -> None:
        self.run = slot.run
        self.turns = turns
        self.given: Feed = ()
        self._stage, self._fetch = slot.stage, slot.fetch
        self._next, self._take = turns.next, turns.take

    def stage(self, _feed: Feed, /) -> None:
        """Stage what is next."""
        self.given = self._next()
        self._stage(self.given)

    def fetch(self) -> Outputs:
        """Return the outputs, which the turns take too."""
        outputs = self._fetch()
        self._take(outputs)
        return outputs


class _AsyncTurningSlot(TurningSlot):
    def __init__(self, slot: AsyncSlot, turns: Turns) -> None:
        super().__init__(slot, turns)
        self._start = slot.start

    def start(self, done: Callable[[BaseException | None], None], /) -> None:
        self._start(done)


class Driver(Protocol):
    """Keeps one cell's requests going."""

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:
        """Take ``samples`` samples after ``settle_calls`` untimed calls, at least one for each stream.

        They are counted, not timed: settling that lasted until some moment would end with a long call more often
        than not, and the window would then begin where the next long one is farthest away.

        Where inputs take turns, the window begins with the one at place ``first``.
        """
        ...


class FollowingDriver(Driver, Protocol):
    """A driver that can take part in the window of several processes."""

    def follow(self, ledger: Ledger, first: int = 0) -> None:
        """Issue requests, single calls, until the ledger wants no more, and wait for those in flight.

        Where inputs take turns, the first request is given the one at place ``first``.
        """
        ...


def make_driver(slots: Sequence[Slot], feeds: Sequence[Feed], io: Io, calls_per_sample: int = 1) -> FollowingDriver:
    """Return the driver that fits the slots: one at a time, queued by the runtime, or a thread for each."""
    if len(slots) == 1:
        return _Synchronous(complete_call(slots[0], feeds[0], io), calls_per_sample)
    queued = [slot for slot in slots if isinstance(slot, AsyncSlot)]
    if len(queued) == len(slots):
        return _Queued(queued, feeds, io)
    return _Threaded([complete_call(slot, feed, io) for slot, feed in zip(slots, feeds, strict=True)])


def make_turning_driver(slots: Sequence[TurningSlot], calls_per_sample: int = 1) -> FollowingDriver:
    """Return a driver like :func:`make_driver` does, whose inputs change from call to call; copies are timed.

    Args:
        slots: One for each stream; they may share their turns.
        calls_per_sample: Calls that a sample lasts, of a single slot.
    """
    if len(slots) == 1:
        return _Synchronous(complete_call(slots[0], (), "copy"), calls_per_sample, slots[0].turns.begin)
    return _TurningStreams(make_driver(slots, [()] * len(slots), "copy"), [slot.turns for slot in slots])


def complete_call(slot: Slot, feed: Feed, io: Io) -> Callable[[], object]:
    """Return the timed region as one function: host arrays in, and out as its result; or the bound run alone."""
    if io == "bound":
        slot.stage(feed)
        return slot.run
    stage, run, fetch = slot.stage, slot.run, slot.fetch

    def call() -> Outputs:
        stage(feed)
        run()
        return fetch()

    return call


def time_calls(call: Callable[[], object], calls: int) -> NDArray[np.int64]:
    """Return the latency of each of so many calls in nanoseconds, where no other call may come before or between them.

    A driver settles first; a runtime that records what it runs would record that too.
    """
    latency_ns = np.empty(calls, np.int64)
    for index in range(calls):
        issued_at = now_ns()
        call()
        latency_ns[index] = now_ns() - issued_at
    return latency_ns


def time_stages(slot: Slot, feed: Feed, calls: int) -> NDArray[np.int64]:
    """Return how long each of so many calls staged, ran and fetched, in nanoseconds: int64, a row for each call.

    As with :func:`time_calls`, no other call comes before or between them.
    """
    stages_ns = np.empty((calls, 3), np.int64)
    for index in range(calls):
        begun = now_ns()
        slot.stage(feed)
        staged = now_ns()
        slot.run()
        done = now_ns()
        slot.fetch()
        stages_ns[index] = staged - begun, done - staged, now_ns() - done
    return stages_ns


class _Synchronous:
    """One call after the other; each sample ends where the next begins."""

    def __init__(
        self, call: Callable[[], object], calls_per_sample: int, begin: Callable[[int], None] | None = None
    ) -> None:
        self._call = call
        self._calls_per_sample = calls_per_sample
        self._begin = begin

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:
        call, inner = self._call, range(self._calls_per_sample)
        stamps = [0] * (samples + 1)
        for _ in range(max(1, settle_calls)):
            call()
        if self._begin is not None:
            self._begin(first)
        stamps[0] = now_ns()
        if self._calls_per_sample == 1:
            for index in range(1, samples + 1):
                call()
                stamps[index] = now_ns()
        else:
            for index in range(1, samples + 1):
                for _ in inner:
                    call()
                stamps[index] = now_ns()
        times = np.array(stamps, np.int64) - stamps[0]
        return Window(times[:-1], times[1:])

    def follow(self, ledger: Ledger, first: int = 0) -> None:
        if self._begin is not None:
            self._begin(first)
        call, goes_on = self._call, True
        while goes_on:
            issued_at = now_ns()
            call()
            goes_on = ledger.complete(issued_at, now_ns())


class _TurningStreams:
    """Several slots whose inputs change: they begin so early that the window opens with the place that was asked for.

    Which request completes first is up to the runtime, so that the place is exact where they complete in order.
    """

    def __init__(self, driver: FollowingDriver, turns: Sequence[Turns]) -> None:
        self._driver = driver
        self._turns = {id(turn): turn for turn in turns}.values()
        self._streams = len(turns)

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:
        shared = len(self._turns) == 1
        for turn in self._turns:
            turn.begin(first - max(settle_calls, self._streams) if shared else first)
        return self._driver.drive(samples, settle_calls)

    def follow(self, ledger: Ledger, first: int = 0) -> None:
        for turn in self._turns:
            turn.begin(first)
        self._driver.follow(ledger)


class _Threaded:
    """A thread for each slot, for runtimes that answer on the caller's thread.

    The threads stay from round to round and end with the process: what the kernel knows of a thread,
    its wait in the run queue included, is gone when the thread ends.
    """

    def __init__(self, calls: Sequence[Callable[[], object]]) -> None:
        self._rounds: list[SimpleQueue[Ledger]] = [SimpleQueue() for _ in calls]
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        for call, rounds in zip(calls, self._rounds, strict=True):
            threading.Thread(target=self._serve, args=(call, rounds, self._ended), daemon=True).start()

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:  # noqa: ARG002 - inputs stay
        ledger = WindowLedger(samples, settle_calls, len(self._rounds))
        self.follow(ledger)
        return ledger.window()

    def follow(self, ledger: Ledger, first: int = 0) -> None:  # noqa: ARG002 - inputs stay
        for rounds in self._rounds:
            rounds.put(ledger)
        errors = [self._ended.get() for _ in self._rounds]
        for error in errors:
            if error is not None:
                raise error

    @staticmethod
    def _serve(
        call: Callable[[], object], rounds: SimpleQueue[Ledger], ended: SimpleQueue[BaseException | None]
    ) -> None:
        while True:
            ledger, goes_on = rounds.get(), True
            try:
                while goes_on:
                    issued_at = now_ns()
                    call()
                    goes_on = ledger.complete(issued_at, now_ns())
            except BaseException as error:  # noqa: BLE001 - handed to the coordinating thread, which raises it
                ledger.abandon()
                ended.put(error)
            else:
                ended.put(None)


class _Queued:
    """Slots whose runtime keeps them in flight; this thread stages, starts and fetches."""

    def __init__(self, slots: Sequence[AsyncSlot], feeds: Sequence[Feed], io: Io) -> None:
        self._slots = slots
        self._feeds = feeds
        self._copies = io == "copy"
        self._ready: SimpleQueue[tuple[int, int, BaseException | None]] = SimpleQueue()
        self._issued_at = [0] * len(slots)
        if not self._copies:
            for slot, feed in zip(slots, feeds, strict=True):
                slot.stage(feed)

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:  # noqa: ARG002 - inputs stay
        ledger = WindowLedger(samples, settle_calls, len(self._slots))
        self.follow(ledger)
        return ledger.window()

    def follow(self, ledger: Ledger, first: int = 0) -> None:  # noqa: ARG002 - inputs stay
        for index in range(len(self._slots)):
            self._issue(index)
        in_flight = len(self._slots)
        failure: BaseException | None = None
        while in_flight:
            index, completed_at, error = self._ready.get()
            in_flight -= 1
            failure = failure or error
            if failure is not None:
                continue
            if self._copies:
                self._slots[index].fetch()
                completed_at = now_ns()
            if ledger.complete(self._issued_at[index], completed_at):
                self._issue(index)
                in_flight += 1
        if failure is not None:
            raise failure

    def _issue(self, index: int) -> None:
        slot = self._slots[index]
        self._issued_at[index] = now_ns()
        if self._copies:
            slot.stage(self._feeds[index])
        slot.start(lambda error: self._ready.put((index, now_ns(), error)))
