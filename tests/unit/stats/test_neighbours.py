"""What a neighbour did beside a row, and by how much the row slowed it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from launches import MS, group, launch, measured, synchronous

from irbench.core.record import NeighbourActivity
from irbench.core.row import BesideNeighbour
from irbench.spec import Timing
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


def beside(*launches: tuple[NeighbourActivity | None, Sequence[NeighbourActivity | None]]) -> BesideNeighbour | None:
    """Return what a neighbour did, of launches that each say what it did alone and in each round of the row."""
    records = []
    for number, (alone, rounds) in enumerate(launches):
        row = [replace(synchronous(block, [2 * MS] * 20), neighbour=did) for block, did in enumerate(rounds)]
        baseline = [synchronous(block, [MS] * 20) for block in range(len(rounds))]
        cells = [measured("row", row, neighbour_alone=alone), measured("alone", baseline)]
        records.append(launch(number, cells))
    observed = observe(group("row", "alone", baseline="alone"), records, TIMING)
    return beside_neighbour(records, observed, "row", "alone", TIMING)


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


def test_a_row_without_a_neighbour_has_nothing_of_it() -> None:
    assert beside((None, [None, None])) is None
