"""The loops inside which every sample is taken, on a clock that the test turns by hand."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Callable, Iterator
from itertools import chain, cycle, repeat
from pathlib import Path

import numpy as np
import pytest

from irbench.measure import drive
from irbench.measure.drive import Loop, SampleTurns, make_turning_driver, turning_slot
from irbench.measure.kernel_evidence import schedstat_ns
from irbench.spec import Timing
from irbench.spi import Feed, Outputs
from irbench.stats.launch_planning import settle_calls

MS = 1_000_000


class HandTurnedClock:
    """Time that passes only when a slot says so."""

    def __init__(self) -> None:
        self.now_ns = 1_000

    def __call__(self) -> int:
        return self.now_ns


class ScriptedSlot:
    """Each run lasts what the script says; the last entry repeats."""

    def __init__(self, clock: HandTurnedClock, durations_ns: list[int]) -> None:
        self.clock = clock
        self.durations: Iterator[int] = chain(durations_ns, repeat(durations_ns[-1]))
        self.calls: list[str] = []

    def stage(self, feed: object) -> None:
        self.calls.append("stage")

    def run(self) -> None:
        self.calls.append("run")
        self.clock.now_ns += next(self.durations)

    def fetch(self) -> tuple[np.ndarray, ...]:
        self.calls.append("fetch")
        return (np.zeros(1),)


class QueuedSlot:
    """Completes on a thread of its own, as a runtime that queues requests does."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.started = 0
        self.in_flight = 0
        self.fail_at = fail_at

    def stage(self, feed: object) -> None: ...

    def run(self) -> None: ...

    def fetch(self) -> tuple[np.ndarray, ...]:
        assert self.in_flight == 0
        return (np.zeros(1),)

    def start(self, done: Callable[[BaseException | None], None]) -> None:
        self.started += 1
        self.in_flight += 1
        assert self.in_flight == 1
        error = RuntimeError("device lost") if self.started == self.fail_at else None

        def complete() -> None:
            self.in_flight -= 1
            done(error)

        threading.Timer(0.0005, complete).start()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandTurnedClock:
    clock = HandTurnedClock()
    monkeypatch.setattr(drive, "now_ns", clock)
    return clock


FEED = (np.zeros(1),)


def test_a_sample_lasts_from_issue_to_completion(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [9 * MS, 2 * MS, 3 * MS, 4 * MS])
    window = drive.make_driver([slot], [FEED], "copy").drive(3)
    assert (window.completion_ns - window.issue_ns).tolist() == [2 * MS, 3 * MS, 4 * MS]
    assert window.completion_ns.tolist() == [2 * MS, 5 * MS, 9 * MS]


def test_calls_that_a_runtime_records_are_timed_one_by_one_from_the_first(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [9 * MS, 2 * MS, 5 * MS])
    latency_ns = drive.time_calls(slot.run, 3)
    assert latency_ns.tolist() == [9 * MS, 2 * MS, 5 * MS]
    assert slot.calls == ["run"] * 3


def test_staging_running_and_fetching_are_timed_apart(clock: HandTurnedClock) -> None:
    class Copying(ScriptedSlot):
        def stage(self, feed: object) -> None:
            super().stage(feed)
            clock.now_ns += 2 * MS

        def fetch(self) -> tuple[np.ndarray, ...]:
            clock.now_ns += MS
            return super().fetch()

    slot = Copying(clock, [9 * MS, 5 * MS])
    stages_ns = drive.time_stages(slot, FEED, 3)
    assert stages_ns.dtype == np.int64
    assert (stages_ns // MS).tolist() == [[2, 9, 1], [2, 5, 1], [2, 5, 1]]
    assert slot.calls == ["stage", "run", "fetch"] * 3


def test_the_first_call_of_a_round_is_never_timed(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [99 * MS, 1 * MS])
    window = drive.make_driver([slot], [FEED], "copy").drive(2)
    assert window.completion_ns.max() == 2 * MS


def test_the_calls_that_settle_are_counted(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [1 * MS])
    drive.make_driver([slot], [FEED], "copy").drive(2, 5)
    assert slot.calls.count("run") == 5 + 2


@pytest.mark.parametrize(("period", "shortest"), [(2, 1), (4, 1), (5, 0.2), (4, 0.15), (7, 12)])
def test_rounds_catch_long_calls_that_come_at_regular_intervals_as_often_as_they_come(
    clock: HandTurnedClock, period: int, shortest: float
) -> None:
    rounds, samples = 2000, 2 * period + 1
    calls = [round(shortest * MS)] * (period - 1) + [round(shortest * MS) + 5 * MS]
    mean_ns = sum(calls) / period
    slot = ScriptedSlot(clock, calls)
    slot.durations = cycle(calls)
    driver, chance = drive.make_driver([slot], [FEED], "copy"), random.Random(0)
    ends_ns = [driver.drive(samples, settle_calls(mean_ns, Timing(), chance)).completion_ns[-1] for _ in range(rounds)]
    assert np.mean(ends_ns) / samples == pytest.approx(mean_ns, rel=0.01)


@pytest.mark.parametrize("settle", [1, 2, 9])
def test_concurrent_requests_settle_once_each_at_least(settle: int) -> None:
    slots = [QueuedSlot() for _ in range(3)]
    drive.make_driver(slots, [FEED] * 3, "copy").drive(4, settle)
    assert sum(slot.started for slot in slots) == max(settle, 3) + 4 + 2


def test_copy_stages_and_fetches_every_call(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [1 * MS])
    drive.make_driver([slot], [FEED], "copy").drive(2)
    assert slot.calls == ["stage", "run", "fetch"] * 3


def test_bound_stages_once_and_never_fetches(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [1 * MS])
    drive.make_driver([slot], [FEED], "bound").drive(2)
    assert slot.calls == ["stage", "run", "run", "run"]


def test_very_short_calls_are_timed_several_at_once(clock: HandTurnedClock) -> None:
    slot = ScriptedSlot(clock, [10])
    window = drive.make_driver([slot], [FEED], "copy", calls_per_sample=5).drive(3)
    assert (window.completion_ns - window.issue_ns).tolist() == [50, 50, 50]
    assert slot.calls.count("run") == 1 + 15


@pytest.mark.parametrize("samples", [8, 21])
def test_queued_slots_give_exactly_the_samples_asked_for_and_are_drained(samples: int) -> None:
    slots = [QueuedSlot(), QueuedSlot()]
    window = drive.make_driver(slots, [FEED, FEED], "copy").drive(samples)
    assert window.completion_ns.size == window.issue_ns.size == samples
    assert all(slot.in_flight == 0 for slot in slots)
    assert (np.diff(window.completion_ns) >= 0).all()
    assert (window.completion_ns > window.issue_ns).all()


def test_requests_are_in_flight_when_the_window_of_a_streamed_round_opens() -> None:
    slots = [QueuedSlot(), QueuedSlot(), QueuedSlot()]
    window = drive.make_driver(slots, [FEED] * 3, "copy").drive(12)
    assert (window.issue_ns < 0).any()
    assert (window.completion_ns >= 0).all()


def test_an_error_in_flight_is_raised_after_the_others_came_home() -> None:
    slots = [QueuedSlot(), QueuedSlot(fail_at=2)]
    with pytest.raises(RuntimeError, match="device lost"):
        drive.make_driver(slots, [FEED, FEED], "copy").drive(50)
    assert all(slot.in_flight == 0 for slot in slots)


class DiligentSlot:
    """A slot whose work releases the interpreter and is booked to the thread that calls it."""

    def __init__(self) -> None:
        self.callers: set[int] = set()
        self.cpu_ns: dict[int, int] = {}

    def stage(self, feed: object) -> None: ...

    def run(self) -> None:
        hashlib.sha256(bytes(3_000_000)).digest()
        thread = threading.get_native_id()
        self.callers.add(thread)
        self.cpu_ns[thread] = int(Path("/proc/thread-self/schedstat").read_bytes().split()[0])

    def fetch(self) -> tuple[np.ndarray, ...]:
        return (np.zeros(1),)


def test_what_the_callers_threads_used_can_still_be_read_after_the_round() -> None:
    before_ns, _ = schedstat_ns(Path("/proc/self"))
    slots = [DiligentSlot(), DiligentSlot()]
    drive.make_driver(slots, [FEED, FEED], "copy").drive(40)
    grown_ns = schedstat_ns(Path("/proc/self"))[0] - before_ns
    used_ns = sum(cpu_ns for slot in slots for cpu_ns in slot.cpu_ns.values())
    assert grown_ns >= used_ns > 0


def test_each_slot_keeps_its_thread_from_round_to_round() -> None:
    slots = [DiligentSlot(), DiligentSlot()]
    driver = drive.make_driver(slots, [FEED, FEED], "copy")
    assert driver.drive(8).completion_ns.size == 8
    first = [set(slot.callers) for slot in slots]
    assert driver.drive(9).completion_ns.size == 9
    assert [slot.callers for slot in slots] == first
    assert all(len(callers) == 1 for callers in first)
    assert first[0] != first[1]


def test_a_round_after_one_that_failed_is_whole_again() -> None:
    slots = [BlockingSlot(), BlockingSlot(fail=True)]
    driver = drive.make_driver(slots, [FEED, FEED], "copy")
    with pytest.raises(ValueError, match="broken slot"):
        driver.drive(20)
    slots[1].fail = False
    assert driver.drive(20).completion_ns.size == 20


class BlockingSlot:
    """A slot for one thread, which counts how many run at once."""

    running = 0
    most = 0
    lock = threading.Lock()
    meet: threading.Barrier

    def __init__(self, fail: bool = False) -> None:
        self.fail = fail

    def stage(self, feed: object) -> None: ...

    def run(self) -> None:
        if self.fail:
            raise ValueError("broken slot")
        cls = type(self)
        with cls.lock:
            cls.running += 1
            cls.most = max(cls.most, cls.running)
        threading.Event().wait(0.001)
        with cls.lock:
            cls.running -= 1

    def fetch(self) -> tuple[np.ndarray, ...]:
        return (np.zeros(1),)


def test_plain_slots_run_at_the_same_time_on_a_thread_each() -> None:
    BlockingSlot.most = 0
    window = drive.make_driver([BlockingSlot(), BlockingSlot()], [FEED, FEED], "copy").drive(20)
    assert window.completion_ns.size == 20
    assert BlockingSlot.most == 2


def test_an_error_on_a_slots_thread_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="broken slot"):
        drive.make_driver([BlockingSlot(), BlockingSlot(fail=True)], [FEED, FEED], "copy").drive(20)


def feeds(*values: float) -> list[Feed]:
    return [(np.array([value]),) for value in values]


class Slot:
    """Answers with its input plus one, and keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[float] = []

    def stage(self, feed: Feed) -> None:
        self.feed = feed
        self.given.append(float(feed[0][0]))

    def run(self) -> None: ...

    def fetch(self) -> Outputs:
        return (self.feed[0] + 1,)


class TurningQueuedSlot(Slot):
    """Completes at once, as a runtime that queues requests may."""

    def start(self, done: Callable[[BaseException | None], None]) -> None:
        done(None)


def test_samples_take_turns_from_any_place() -> None:
    turns = SampleTurns(feeds(0, 1, 2))
    assert [turns.next()[0][0] for _ in range(4)] == [0, 1, 2, 0]
    turns.begin(-1)
    assert [turns.next()[0][0] for _ in range(2)] == [2, 0]


@pytest.mark.parametrize("settle", [1, 2, 5])
def test_a_window_begins_with_the_sample_that_was_asked_for(settle: int) -> None:
    slot = Slot()
    make_turning_driver([turning_slot(slot, SampleTurns(feeds(0, 1, 2)))]).drive(4, settle, first=2)
    assert slot.given[settle:] == [2, 0, 1, 2]


def test_every_call_of_a_sample_of_several_calls_has_the_next_feed() -> None:
    slot = Slot()
    make_turning_driver([turning_slot(slot, SampleTurns(feeds(0, 1, 2)))], calls_per_sample=2).drive(3)
    assert slot.given[1:] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("kind", [Slot, TurningQueuedSlot])
def test_streams_share_the_samples(kind: type[Slot]) -> None:
    slots, turns = [kind(), kind()], SampleTurns(feeds(0, 1, 2))
    make_turning_driver([turning_slot(slot, turns) for slot in slots]).drive(10, 4)
    given = sorted(value for slot in slots for value in slot.given)
    counts = [given.count(value) for value in (0, 1, 2)]
    assert max(counts) - min(counts) <= 1


def test_queued_streams_open_their_window_with_the_sample_that_was_asked_for() -> None:
    slots, turns = [TurningQueuedSlot(), TurningQueuedSlot()], SampleTurns(feeds(0, 1, 2, 3, 4))
    make_turning_driver([turning_slot(slot, turns) for slot in slots]).drive(3, 4, first=1)
    issued = [value for pair in zip(*(slot.given for slot in slots), strict=False) for value in pair]
    assert issued[4:7] == [1, 2, 3]


def test_outputs_become_the_inputs_of_the_next_call() -> None:
    slot = Slot()
    make_turning_driver([turning_slot(slot, Loop(feeds(10), {0: 0}))]).drive(4, settle_calls=1)
    assert slot.given[1:] == [10, 11, 12, 13]


def test_each_round_of_a_loop_begins_with_its_initial_values() -> None:
    slot = Slot()
    driver = make_turning_driver([turning_slot(slot, Loop(feeds(10), {0: 0}))])
    for _ in range(2):
        slot.given.clear()
        driver.drive(2, settle_calls=3)
        assert slot.given[3:] == [10, 11]


def test_streams_of_a_loop_each_have_a_state_of_their_own() -> None:
    slots = [TurningQueuedSlot(), TurningQueuedSlot()]
    make_turning_driver([turning_slot(slot, Loop(feeds(10), {0: 0})) for slot in slots]).drive(6, 2)
    for slot in slots:
        assert slot.given == [10 + step for step in range(len(slot.given))]


def test_what_is_not_fed_back_takes_turns_within_a_loop() -> None:
    loop = Loop([(np.array([0.0]), np.array([value])) for value in (7.0, 8.0)], {0: 0})
    seen = []
    for step in range(3):
        state, sample = loop.next()
        seen.append((state[0], sample[0]))
        loop.take((np.array([step + 1.0]),))
    assert seen == [(0, 7), (1, 8), (2, 7)]


def test_an_output_is_turned_into_the_layout_of_its_input() -> None:
    loop = Loop([(np.zeros((2, 3)),)], {0: 0}, {0: (1, 0)})
    loop.next()
    loop.take((np.arange(6.0).reshape(3, 2),))
    (given,) = loop.next()
    assert given.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert given.flags["C_CONTIGUOUS"]


def test_a_scalar_that_is_fed_back_stays_one() -> None:
    loop = Loop([(np.zeros((), np.float32),)], {0: 0})
    loop.next()
    loop.take((np.float32(3),))
    (given,) = loop.next()
    assert isinstance(given, np.ndarray)
    assert (given.shape, given.dtype, float(given)) == ((), np.float32, 3)


def test_a_slot_knows_the_sample_of_its_last_call_also_where_streams_share_them() -> None:
    slots, turns = [Slot(), Slot()], SampleTurns(feeds(0, 1, 2))
    turning = [turning_slot(slot, turns) for slot in slots]
    assert [slot.given for slot in turning] == [(), ()]
    make_turning_driver(turning).drive(10, 4)
    assert [turns.place_of(slot.given) for slot in turning] == [slot.given[-1] for slot in slots]
