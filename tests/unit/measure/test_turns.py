"""Inputs that change from call to call: samples in turn, outputs fed back, and where a round begins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irbench.measure.drive import Loop, SampleTurns, Turns, make_turning_driver
from irbench.spi import Feed, Outputs


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


class QueuedSlot(Slot):
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
    make_turning_driver([slot], [SampleTurns(feeds(0, 1, 2))]).drive(4, settle, first=2)
    assert slot.given[settle:] == [2, 0, 1, 2]


def test_every_call_of_a_sample_of_several_calls_has_the_next_feed() -> None:
    slot = Slot()
    make_turning_driver([slot], [SampleTurns(feeds(0, 1, 2))], calls_per_sample=2).drive(3)
    assert slot.given[1:] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("kind", [Slot, QueuedSlot])
def test_streams_share_the_samples(kind: type[Slot]) -> None:
    slots, turns = [kind(), kind()], SampleTurns(feeds(0, 1, 2))
    make_turning_driver(slots, [turns, turns]).drive(10, 4)
    given = sorted(value for slot in slots for value in slot.given)
    counts = [given.count(value) for value in (0, 1, 2)]
    assert max(counts) - min(counts) <= 1


def test_queued_streams_open_their_window_with_the_sample_that_was_asked_for() -> None:
    slots, turns = [QueuedSlot(), QueuedSlot()], SampleTurns(feeds(0, 1, 2, 3, 4))
    make_turning_driver(slots, [turns, turns]).drive(3, 4, first=1)
    issued = [value for pair in zip(*(slot.given for slot in slots), strict=False) for value in pair]
    assert issued[4:7] == [1, 2, 3]


def test_outputs_become_the_inputs_of_the_next_call() -> None:
    slot = Slot()
    make_turning_driver([slot], [Loop(feeds(10), {0: 0})]).drive(4, settle_calls=1)
    assert slot.given[1:] == [10, 11, 12, 13]


def test_each_round_of_a_loop_begins_with_its_initial_values() -> None:
    slot = Slot()
    driver = make_turning_driver([slot], [Loop(feeds(10), {0: 0})])
    for _ in range(2):
        slot.given.clear()
        driver.drive(2, settle_calls=3)
        assert slot.given[3:] == [10, 11]


def test_streams_of_a_loop_each_have_a_state_of_their_own() -> None:
    slots = [QueuedSlot(), QueuedSlot()]
    turns: list[Turns] = [Loop(feeds(10), {0: 0}), Loop(feeds(10), {0: 0})]
    make_turning_driver(slots, turns).drive(6, 2)
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
