"""What reading the clock costs, on scripted clocks."""

from __future__ import annotations

from itertools import count

import pytest

from irbench.measure import clock


def test_a_reading_costs_what_the_least_disturbed_pair_took(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter((0, 90, 100, 140, 200, 5000))
    monkeypatch.setattr(clock, "now_ns", lambda: next(readings))
    assert clock.reading_ns(3) == 40


def test_a_coarse_clock_costs_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = count()
    monkeypatch.setattr(clock, "now_ns", lambda: next(turns) // 7 * 4_000_000)
    assert clock.reading_ns(3) == 4_000_000
