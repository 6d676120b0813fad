"""Figures of calls at a constant pace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import launches
import numpy as np
import pytest

from irbench.core.record import LaunchRecord, PacedRun
from irbench.core.result import GroupResult
from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.run_modes.paced import late_calls, paced_calls, paced_latency, paced_over_launches
from irbench.stats.summary import summarise

MS = 1_000_000


def run(latencies_ms: Sequence[float], pace_ms: float = 10, concurrency: int = 1) -> PacedRun:
    """Return calls that took so long, each issued when it was due, or when its slot was free."""
    issue: list[float] = []
    completion: list[float] = []
    for number, latency in enumerate(latencies_ms):
        free = completion[number - concurrency] if number >= concurrency else 0.0
        issue.append(max(number * pace_ms, free))
        completion.append(issue[-1] + latency)
    return PacedRun(
        round(pace_ms * MS),
        concurrency,
        np.rint(np.array(issue) * MS).astype(np.int64),
        np.rint(np.array(completion) * MS).astype(np.int64),
    )


def test_a_run_lasts_a_second_and_has_enough_calls_for_p90_in_three_launches() -> None:
    timing = Timing(pace=0.01)
    assert paced_calls(1 * MS, 1, timing) == 100
    assert paced_calls(50 * MS, 1, timing) == 20, "a slow call makes the pace its own"
    assert paced_calls(900 * MS, 1, timing) * 3 >= 44


@pytest.mark.parametrize("concurrency", [2, 3, 7])
def test_all_slots_make_the_same_number_of_calls(concurrency: int) -> None:
    assert paced_calls(1 * MS, concurrency, Timing(pace=0.01)) % concurrency == 0


def test_a_call_is_late_where_it_was_due_while_its_slot_was_busy() -> None:
    assert late_calls(run([1, 25, 1, 1, 1])) == 2
    assert late_calls(run([10, 10, 10])) == 0
    assert late_calls(run([15] * 6, concurrency=2)) == 0


def test_waiting_for_the_call_before_counts_from_when_a_call_was_due() -> None:
    found = paced_latency([run([1, 1, 1, 35, 1, 1, 1])])
    assert found is not None
    assert found.p50 == 1
    assert found.p50_since_due == 8  # of 1, 1, 1, 35, 26, 17, 8
    assert found.late == 3
    assert (found.p90, found.p90_since_due) == (None, None), "seven calls bound no p90"


def test_a_stall_shows_in_the_calls_that_wait_for_it() -> None:
    found = paced_latency([run([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 45] * 4)])
    assert found is not None
    assert found.p90 == 1
    assert found.p90_since_due is not None
    assert found.p90_since_due > 10


def test_lag_counts_neither_waiting_for_the_call_before_nor_until_a_call_is_due() -> None:
    on_time = run([1, 35, 1, 1, 1, 1])
    late = replace(on_time, issue_ns=on_time.issue_ns + 2 * MS, completion_ns=on_time.completion_ns + 2 * MS)
    for measured, lag_ms in ((on_time, 0), (late, 2)):
        found = paced_latency([measured])
        assert found is not None
        assert found.lag_p99 == pytest.approx(lag_ms, abs=0.11)


def test_what_cannot_keep_the_pace_has_no_latency_since_due() -> None:
    found = paced_latency([run([12] * 60)])
    assert found is not None
    assert found.p50 == pytest.approx(12)
    assert found.late == 59
    assert (found.p50_since_due, found.p90_since_due) == (None, None)


def test_no_run_has_no_figures() -> None:
    assert paced_latency([]) is None
    assert paced_over_launches([], 50, Timing()) is None


def test_a_percentile_has_an_interval_only_if_every_launch_can_tell_it() -> None:
    runs = [run([latency] * 50) for latency in (2.0, 2.2, 2.1, 2.3)]
    median, high = (paced_over_launches(runs, percent, Timing()) for percent in (50, 90))
    assert median is not None
    assert high is not None
    assert median.value == pytest.approx(2.15, abs=0.01)
    assert median.low <= 2.0 < 2.3 <= median.high
    short = [*runs, run([2.0] * 20)]
    assert paced_over_launches(short, 50, Timing()) is not None
    assert paced_over_launches(short, 90, Timing()) is None


def table(back_to_back_ms: Mapping[str, float], at_pace_ms: Mapping[str, float], **load: int) -> GroupResult:
    """Return the table of eight launches that hardly differ."""
    records: list[LaunchRecord] = []
    for record in launches.even(
        {cell: [ms * (1 + 1e-4 * n) for n in range(8)] for cell, ms in back_to_back_ms.items()}
    ):
        cells = [replace(cell, paced=run([at_pace_ms[cell.cell]] * 20)) for cell in record.cells]
        records.append(replace(record, cells=tuple(cells)))
    group = launches.group(*back_to_back_ms, streams=dict.fromkeys(back_to_back_ms, 2) if load else None)
    timing = Timing(pace=0.01)
    return summarise(group, records, timing, Admission(), stopped_by="target", seconds=1.0)


def codes(result: GroupResult) -> list[str]:
    return [warning.code for warning in result.warnings]


def test_an_order_that_is_the_other_way_round_at_the_pace_is_a_warning() -> None:
    result = table({"a": 2.0, "b": 1.8, "c": 1.0}, {"a": 2.1, "b": 1.5, "c": 1.9})
    (warning,) = [warning for warning in result.warnings if warning.code == "paced-differs"]
    (pair,) = warning.reversed
    assert (pair.cell, pair.other) == ("c", "b")
    assert pair.back_to_back == pytest.approx(1.8)
    assert pair.at_pace == pytest.approx(1.5 / 1.9)
    assert warning.pace_ms == 10
    assert {row.cell for row in warning.rows} == {"b", "c"}


def test_an_order_that_stays_at_the_pace_is_none() -> None:
    assert "paced-differs" not in codes(table({"a": 2.0, "b": 1.0}, {"a": 3.0, "b": 1.5}))


def test_rows_are_not_compared_at_a_pace_where_throughput_is_what_counts() -> None:
    result = table({"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 2.0}, streams=2)
    assert "paced-differs" not in codes(result)


def test_a_row_that_cannot_keep_the_pace_is_marked() -> None:
    result = table({"a": 2.0, "b": 12.0}, {"a": 2.0, "b": 12.0})
    marks = {cell.id: [mark.code for mark in cell.marks] for cell in result.cells}
    assert marks == {"a": [], "b": ["late-calls"]}
    (row,) = [cell for cell in result.cells if cell.id == "a"]
    assert row.paced_ms is not None
    assert (row.paced_ms.pace, row.paced_ms.p50, row.paced_ms.count) == (10, 2, 160)
