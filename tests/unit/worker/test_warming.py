"""How a warm-up plans and judges its calls where a model server refuses some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from irbench.errors import RequestRefused
from irbench.measure.ledger import Window
from irbench.spec import Timing
from irbench.worker.inference import Retries
from irbench.worker.warming import Warming, WarmUpRequest

CALL_NS = 1_000_000
TIMING = replace(Timing(), warm_up=1.0, warm_up_calls=1)


class BusyServer:
    """A driver whose calls take a millisecond of its own clock, and wait where the server refuses them."""

    def __init__(self, refuses: Callable[[int], bool], slow_calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.retries = Retries()
        self.calls = 0
        self._now_ns = 0
        self._refuses, self._slow_calls = refuses, slow_calls
        self._is_refused = False
        monkeypatch.setattr("irbench.measure.clock.now_ns", lambda: self._now_ns)
        monkeypatch.setattr("irbench.worker.inference.sleep", self._sleep)

    def drive(self, samples: int, settle_calls: int = 1, first: int = 0) -> Window:
        del settle_calls, first
        stamps = []
        for _ in range(1 + samples):
            self.calls += 1
            self._is_refused = self._refuses(self.calls)
            self.retries.call(self._attempt)
            stamps.append(self._now_ns)
        times = np.array(stamps, np.int64) - stamps[0]
        return Window(times[:-1], times[1:])

    def _attempt(self) -> None:
        if self._is_refused:
            self._is_refused = False
            raise RequestRefused("The server refused a request.")
        self._now_ns += CALL_NS * (3 if self.calls <= self._slow_calls else 1)

    def _sleep(self, seconds: float) -> None:
        self._now_ns += round(seconds * 1e9)

    def warmed(self) -> Warming:
        warming = Warming(self, 1, TIMING, WarmUpRequest(), self.retries)
        warming.run(9)
        return warming


def test_a_call_that_was_refused_is_left_out_and_the_others_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up = BusyServer(lambda number: number in {5, 300}, 100, monkeypatch).warmed().record()
    assert (warm_up.refused, warm_up.judged) == (2, True)
    assert warm_up.steady_after == pytest.approx(100, abs=40)
    assert warm_up.slower == pytest.approx(2, rel=0.01)


def test_warm_calls_of_which_some_wait_are_not_slow_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up = BusyServer(lambda number: number < 60 and number % 2 == 0, 0, monkeypatch).warmed().record()
    assert (warm_up.judged, warm_up.steady_after, warm_up.slower) == (True, 0, 0)


def test_waits_of_the_first_calls_take_no_calls_from_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    server = BusyServer(lambda number: number in {2, 3, 4, 5, 6, 7}, 0, monkeypatch)
    warming = server.warmed()
    assert server.calls == pytest.approx(700, rel=0.05), "a second, of which six waits took 0.3"
    assert warming.completion_ns == warming.call_ns == CALL_NS


def test_a_command_that_makes_more_calls_than_it_was_asked_for_warms_up(monkeypatch: pytest.MonkeyPatch) -> None:
    server = BusyServer(lambda _: False, 100, monkeypatch)
    drive = server.drive
    monkeypatch.setattr(server, "drive", lambda samples: drive(samples + samples % 2))
    warm_up = Warming(server, 2, TIMING, WarmUpRequest(), server.retries)
    warm_up.run(9)
    assert warm_up.record().judged
    assert warm_up.call_ns == CALL_NS


def test_where_every_call_waited_their_times_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    warming = BusyServer(lambda _: True, 0, monkeypatch).warmed()
    assert not warming.record().judged
    assert warming.completion_ns > CALL_NS


def test_with_streams_calls_beside_one_that_waits_are_left_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irbench.worker.inference.sleep", lambda _: None)
    retries = Retries()

    def answered_in_the_end() -> None:
        if not retries.refused:
            for _ in range(4):  # on another thread
                retries.call(lambda: None)
            raise RequestRefused("The server refused a request.", retry_after_s=0)

    for call in (*[lambda: None] * 3, answered_in_the_end, *[lambda: None] * 5):
        retries.call(call)
    assert retries.answered == 13
    assert retries.undisturbed(0, 13, streams=2).tolist() == [True] * 7 + [False] * 2 + [True] * 4
    assert retries.undisturbed(8, 3, streams=2).tolist() == [False, True, True]
