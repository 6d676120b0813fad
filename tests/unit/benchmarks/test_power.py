"""When a run told two graphs apart, and what many runs say of how small a difference is found."""

from __future__ import annotations

import math
from dataclasses import replace

import documents
import pytest
from launches import even, group
from summaries import table

from benchmarks.power import detection_of
from benchmarks.power_figures import Detection, missed_power, power_table
from benchmarks.stored import StoredRun

NEAR_MS = (10.0, 10.1, 10.05, 9.95, 10.0, 10.1, 10.02, 9.98)


def run(shorter_ms: tuple[float, ...], longer_ms: tuple[float, ...]) -> StoredRun:
    records = even({"longer": longer_ms, "shorter": shorter_ms})
    measured = table(group("longer", "shorter"), records)
    document = documents.document(replace(measured, baseline="longer"))
    return StoredRun(60.0, document, tuple(records), tuple(10.0 * (number + 1) for number in range(len(records))))


def test_a_run_tells_two_graphs_apart_at_the_end_of_the_first_launch_whose_interval_does() -> None:
    found = detection_of(run(NEAR_MS, tuple(1.1 * ms for ms in reversed(NEAR_MS))), "ort", 1.1)
    assert (found.subject, found.ratio, found.launches, found.is_wrong) == ("ort", 1.1, len(NEAR_MS), False)
    assert found.detected_s == 40.0


def test_a_run_that_tells_nothing_apart_never_does_and_is_not_wrong() -> None:
    found = detection_of(run(NEAR_MS, tuple(reversed(NEAR_MS))), "ort", 1.0)
    assert (found.detected_s, found.is_wrong) == (math.inf, False)


@pytest.mark.parametrize(("shorter", "longer", "ratio"), [(1.1, 1.0, 1.05), (1.0, 1.1, 1.0)])
def test_a_run_is_wrong_that_calls_the_longer_graph_or_one_of_two_equals_faster(
    shorter: float, longer: float, ratio: float
) -> None:
    levels = (tuple(factor * ms for ms in NEAR_MS) for factor in (shorter, longer))
    assert detection_of(run(*levels), "ort", ratio).is_wrong


def test_the_table_counts_the_runs_that_told_each_pair_apart_within_each_time() -> None:
    found = [Detection("ort", 1.03, detected_s, is_wrong=False, launches=7) for detected_s in (9.0, 25.0, math.inf)]
    (row,) = power_table([*found]).rows
    assert row.cells == ("ort", "3 %", "3", "1", "1", "2", "2", "2", "0", "7")


def test_one_of_twenty_equals_may_be_told_apart() -> None:
    equals = [Detection("ort", 1.0, 20.0, is_wrong=number < 2, launches=12) for number in range(20)]
    assert list(missed_power(equals[1:])) == []
    assert list(missed_power(equals)) == ["2 of 20 runs report a difference between equal graphs; 1 may."]
    assert list(missed_power([Detection("ort", 1.05, 20.0, is_wrong=True, launches=12)])) == [
        "1 run of 1 called the longer graph faster."
    ]
