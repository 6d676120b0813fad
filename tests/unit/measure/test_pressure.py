"""Pressure of irbench's own: how often it works, and that it counts what it did."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from irbench.measure.pressure import WorkLimit, piece_of
from irbench.spec import PRESSURES, Neighbour
from irbench.worker.neighbour_hosts import PressureHost

PIECE_NS = 100_000


def worked(limit: WorkLimit, pieces: int, late_ns: int = 0) -> float:
    """Return the share of the time that is worked, in pieces of 0.1 ms, where each look comes so late."""
    total_ns = done_ns = last_ns = 0
    for _ in range(pieces):
        passed_ns = last_ns or PIECE_NS // 2 + late_ns
        last_ns = PIECE_NS if limit.allows(passed_ns, last_ns) else 0
        total_ns, done_ns = total_ns + passed_ns, done_ns + last_ns
    return done_ns / total_ns


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("late_ns", [0, 70_000])
def test_work_takes_its_share_of_the_time_also_where_rests_are_longer_than_asked_for(
    share: float, late_ns: int
) -> None:
    assert worked(WorkLimit(share), 20_000, late_ns) == pytest.approx(share, abs=0.01)


def test_after_a_rest_a_burst_of_work_is_done_at_once() -> None:
    limit = WorkLimit(0.5, burst_ns=10 * PIECE_NS)
    turns, last_ns = [], 0
    for _ in range(1000):
        last_ns = PIECE_NS if limit.allows(last_ns or PIECE_NS, last_ns) else 0
        turns.append(bool(last_ns))
    begun = sum(now and not before for before, now in pairwise(turns))
    assert sum(turns) == pytest.approx(500, abs=30)
    assert begun < 40


def test_one_that_stood_still_for_a_second_does_not_make_up_for_it() -> None:
    limit = WorkLimit(0.5)
    limit.allows(1_000_000_000, 0)
    made_up = sum(limit.allows(PIECE_NS, PIECE_NS) for _ in range(1000))
    assert made_up < 100


@pytest.mark.parametrize("pressure", PRESSURES)
def test_a_piece_tells_how_many_bytes_it_moved(pressure: str) -> None:
    moved = piece_of(pressure, 1, 1 << 20)()  # type: ignore[arg-type]
    assert (moved > 0) == (pressure != "cpu")


def test_it_counts_nothing_at_no_intensity_and_something_at_full() -> None:
    host = PressureHost(Neighbour("bandwidth", cpus=(min(os.sched_getaffinity(0)),), shares_processors=True))
    assert host.counted().moved_bytes == 0
    host.press(100)
    while not host.counted().moved_bytes:
        pass
    host.press(0)
    assert host.counted().cpu_ns > 0
