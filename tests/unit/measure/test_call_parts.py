"""When the stages of a call were complete, and which stage failed on what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from virtual_clock import VirtualClock

from irbench.errors import IrbenchError, RequestRefused
from irbench.measure import call_parts
from irbench.measure.call_parts import TimedStages, described, part_names, part_times_ns

US = 1000


class Slot:
    """A slot of stages, as sessions have them."""

    def __init__(self, stages: TimedStages) -> None:
        self.run, self.parts, self.take_finished = stages, stages.names, stages.take_finished

    def stage(self, feed: Any) -> None: ...

    def fetch(self) -> Any: ...


class PlainSlot:
    def stage(self, feed: Any) -> None: ...

    def run(self) -> None: ...

    def fetch(self) -> Any: ...


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> VirtualClock:
    virtual = VirtualClock()
    monkeypatch.setattr(call_parts, "now_ns", virtual.read)
    return virtual


def lasting(clock: VirtualClock, duration_us: int) -> Callable[[Any], Any]:
    def stage(value: Any) -> Any:
        clock.advance(duration_us * US)
        return value

    return stage


def test_each_stage_is_given_what_the_one_before_returned_and_its_end_is_kept(clock: VirtualClock) -> None:
    first, second = lasting(clock, 30), lasting(clock, 12)
    stages = TimedStages({"add": lambda value: first(value) + 1, "double": lambda value: second(value) * 2})
    slot = Slot(stages)
    assert [stages(value) for value in (1, 2)] == [4, 6]
    times_ns = part_times_ns([slot], 2)
    assert times_ns.dtype == np.int64
    assert np.rint(times_ns / US).tolist() == [30, 42, 30, 42]
    assert part_names([slot]) == ("add", "double")


def test_only_the_last_calls_are_returned_and_all_are_forgotten(clock: VirtualClock) -> None:
    stages = TimedStages({"all": lambda duration_us: clock.advance(duration_us * US)})
    for duration_us in (5, 7, 9):
        stages(duration_us)
    assert np.rint(part_times_ns([Slot(stages)], 2) / US).tolist() == [7, 9]
    assert part_times_ns([Slot(stages)], 2).size == 0


def test_slots_without_parts_have_neither_times_nor_names() -> None:
    assert part_times_ns([PlainSlot()], 3).size == 0
    assert part_names([PlainSlot()]) == ()


def test_a_stage_that_fails_is_named_with_what_it_was_given() -> None:
    stages = TimedStages({"decode": lambda _: np.zeros((2, 3), np.uint8), "model": lambda pixels: pixels["x"]})
    with pytest.raises(IrbenchError) as failed:
        stages({})
    assert all(word in failed.value.message for word in ("model", "decode", "uint8", "2x3", "IndexError"))
    assert failed.value.hint
    with pytest.raises(IrbenchError, match="decode") as failed:
        TimedStages({"decode": lambda inputs: inputs["missing"]})({"pixels": 1})
    assert "pixels" in failed.value.message
    assert Slot(stages).take_finished() == []


@pytest.mark.parametrize(
    ("value", "said"),
    [(np.float32(1) * np.ones((1, 2)), "1x2"), ({"a": 1}, "a"), ([1, 2], "2"), (None, "None"), ("text", "str")],
)
def test_what_a_stage_was_given_is_described_in_a_few_words(value: Any, said: str) -> None:
    assert said in described(value)
    assert len(described({str(number): 1 for number in range(100)})) < 40


def test_a_request_that_a_stage_refuses_stays_one() -> None:
    def refuse(_: object) -> None:
        raise RequestRefused("full")

    stages = TimedStages({"prepare": lambda value: value, "server": refuse})
    with pytest.raises(RequestRefused, match=r"^full$"):
        stages(0)
    assert stages.take_finished() == []
