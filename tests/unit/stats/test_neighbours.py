"""What a neighbour did beside a row, and by how much the row slowed it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from launches import MS, group, launch, measured, synchronous

from irbench.core.record import NeighbourActivity
from irbench.core.row import BesideNeighbour
from irbench.spec import Neighbour, Timing
from irbench.stats.observed import observe
from irbench.stats.run_modes.neighbours import beside_neighbour

TIMING = Timing(burn_in_blocks=0)
SECOND = 1000 * MS


def calls(*milliseconds: float) -> NeighbourActivity:
    return NeighbourActivity(SECOND, SECOND // 2, call_ns=np.array([each * MS for each in milliseconds], np.int64))


def moved(gigabytes: float) -> NeighbourActivity:
    return NeighbourActivity(SECOND, SECOND, round(gigabytes * 1e9))


def used(processors: float) -> NeighbourActivity:
    return NeighbourActivity(SECOND, round(processors * SECOND))


def beside(
    *launches: tuple[NeighbourActivity | None, Sequence[NeighbourActivity | None]], asked: Neighbour | None = None
) -> BesideNeighbour | None:
    """Return what a neighbour did, of launches that each say what it did alone and in each round of the row."""
    records = []
    for number, (alone, rounds) in enumerate(launches):
        row = [replace(synchronous(block, [2 * MS] * 20), neighbour=did) for block, did in enumerate(rounds)]
        baseline = [synchronous(block, [MS] * 20) for block in range(len(rounds))]
        cells = [measured("row", row, neighbour_alone=alone), measured("alone", baseline)]
        records.append(launch(number, cells))
    planned = group("row", "alone", baseline="alone")
    alone = planned.cells[0]
    cell = replace(alone, load=replace(alone.load, beside=asked))
    return beside_neighbour(records, observe(planned, records, TIMING), cell, "alone", TIMING)


def achieved(asked: Neighbour, *did: NeighbourActivity) -> float | None:
    """Return the share of what was asked of a neighbour that did this, a launch for each."""
    known = beside(*((did[0], [each] * 2) for each in did), asked=asked)
    assert known is not None
    return known.achieved_share


def test_a_models_slowdown_is_of_its_median_latency() -> None:
    did = beside((calls(10, 10), [calls(15), calls(15, 15)]), (calls(10), [calls(15), calls(15)]))
    assert did is not None
    assert did.slowdown is not None
    assert did.slowdown.value == pytest.approx(1.5)
    assert did.calls_per_s is not None
    assert did.calls_per_s.value == pytest.approx((1.5 * 1.0) ** 0.5)


def test_that_of_pressure_on_memory_is_of_the_bytes_that_it_moved() -> None:
    did = beside((moved(8), [moved(4), moved(4)]), (moved(8), [moved(4), moved(4)]))
    assert did is not None
    assert did.slowdown is not None
    assert did.slowdown.value == pytest.approx(2)
    assert did.alone is not None
    assert did.alone.value == pytest.approx(8)


def test_where_only_processors_are_counted_there_is_none() -> None:
    did = beside((used(1), [used(0.5)] * 2), (used(1), [used(0.5)] * 2))
    assert did is not None
    assert did.slowdown is None
    assert did.processors.value == pytest.approx(0.5)
    assert did.alone is not None
    assert did.alone.value == pytest.approx(1)


def test_what_it_did_alone_is_in_the_unit_of_what_it_did_beside_the_row() -> None:
    did = beside((calls(10), [calls()] * 2), (calls(10), [calls(15)] * 2))
    assert did is not None
    assert did.calls_per_s is None
    assert did.slowdown is None
    assert did.alone is not None
    assert did.alone.value == pytest.approx(0.5)  # processors, as those are what is known of each launch


def test_the_tail_is_compared_with_that_of_the_row_alone() -> None:
    did = beside(*((used(1), [used(1)] * 5) for _ in range(3)))
    assert did is not None
    assert did.p90_slowdown is not None
    assert did.p90_slowdown.value == pytest.approx(2, rel=0.01)


def test_pressure_that_kept_fewer_processors_busy_than_its_intensity_says_did_a_share_of_it() -> None:
    assert achieved(Neighbour("cpu", intensity=80, cpus=(0,)), used(0.8)) == pytest.approx(1)
    assert achieved(Neighbour("cpu", intensity=80, cpus=(0,)), used(0.4), used(0.4), used(0.8)) == pytest.approx(0.5)
    assert achieved(Neighbour("bandwidth", intensity=50, cpus=(1, 2)), moved(8)) == pytest.approx(1)


def test_calls_that_a_round_cuts_off_are_no_missing_ones() -> None:
    at_ten = Neighbour("model", "net", rate=10.0)
    assert achieved(at_ten, calls(90, 90)) == 1
    assert achieved(at_ten, calls(200, 200)) == pytest.approx(0.5)
    assert achieved(at_ten, calls()) == 0


@pytest.mark.parametrize(
    "asked", [Neighbour("cpu", intensity=0, cpus=(0,)), Neighbour("model", "net"), Neighbour("command", "sleep 9")]
)
def test_where_no_amount_is_asked_no_share_of_it_is_known(asked: Neighbour) -> None:
    assert achieved(asked, used(0.0)) is None


def test_a_row_without_a_neighbour_has_nothing_of_it() -> None:
    assert beside((None, [None, None])) is None
