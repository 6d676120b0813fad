"""What the loop itself costs, on a clock on which a reading takes 40 ns and a call 25."""

from __future__ import annotations

import pytest

from irbench.measure import drive, overhead
from irbench.measure.overhead import Overhead, Repeats, measure_overhead

READING_NS = 40
RUN_NS = 25


class TickingClock:
    """Every reading takes its time; calls add theirs."""

    def __init__(self) -> None:
        self.now_ns = 1_000

    def __call__(self) -> int:
        self.now_ns += READING_NS
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> TickingClock:
    clock = TickingClock()
    for module in (drive, overhead):
        monkeypatch.setattr(module, "now_ns", clock)
    return clock


def test_each_loop_reads_the_clock_once_for_a_timed_call(clock: TickingClock) -> None:
    measured = measure_overhead(repeats=4, calls=10)
    assert measured.bare.values_ns == measured.calls.values_ns == measured.driver.values_ns == (READING_NS,) * 4
    assert measured.cost.values_ns == (0,) * 4


def test_the_time_of_the_three_calls_is_in_the_loops_that_make_them(
    clock: TickingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: object) -> None:
        clock.now_ns += RUN_NS

    monkeypatch.setattr(overhead.NullSlot, "run", run)
    measured = measure_overhead(repeats=3, calls=10)
    assert measured.bare.median_ns == READING_NS
    assert measured.calls.median_ns == measured.driver.median_ns == READING_NS + RUN_NS
    assert measured.cost.median_ns == RUN_NS


def test_the_loops_take_turns_in_alternating_order_after_an_untimed_turn(
    clock: TickingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    for name in ("_bare", "_bare_calls", "_driven"):
        monkeypatch.setattr(overhead, name, lambda *_, name=name: order.append(name) or 1.0)
    measured = measure_overhead(repeats=2, calls=5)
    forth = ["_bare", "_bare_calls", "_driven"]
    assert order == forth + forth + forth[::-1]
    assert measured.bare.values_ns == (1.0, 1.0)


def test_costs_are_paired_by_repeat() -> None:
    # differences 60, 70, 200: their median is not the difference of the medians, 180 - 100
    measured = Overhead(Repeats((100, 110, 90)), Repeats((150, 160, 140)), Repeats((160, 180, 290)))
    assert measured.cost.values_ns == (60, 70, 200)
    assert measured.cost.median_ns == 70
