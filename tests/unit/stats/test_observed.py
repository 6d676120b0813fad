from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from launches import MS, group, launch, measured, streamed, synchronous

from irbench.core.record import Evidence, LaunchRecord, Round
from irbench.spec import Goal, Group, Timing
from irbench.spec.serving import ServiceLevel
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.observed import call_latency_ns, observe, round_statistic_ns, time_per_completion_ns
from irbench.stats.summary import summarise


def test_a_synchronous_round_counts_as_the_median_of_its_latencies():
    round_ = synchronous(0, [3 * MS, 1 * MS, 100 * MS])
    assert round_statistic_ns(round_, 1, by_completion=False) == 3 * MS


def test_a_sample_of_many_calls_is_divided_by_their_number():
    round_ = synchronous(0, [50_000, 60_000, 70_000])
    assert round_statistic_ns(round_, 10, by_completion=False) == 6_000
    assert round_statistic_ns(round_, 10, by_completion=True) == 6_000
    assert call_latency_ns(round_, 10).tolist() == [5_000, 6_000, 7_000]


def test_requests_that_complete_two_at_a_time_count_as_their_rate_and_not_as_their_gaps():
    # two streams, each request takes 10 ms, both end together: 5 ms per completion, though the gaps are 0 and 10
    completion = [10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS, 30 * MS, 40 * MS, 40 * MS]
    issue = [0, 0, 10 * MS, 10 * MS, 20 * MS, 20 * MS, 30 * MS, 30 * MS]
    round_ = streamed(0, issue, completion)
    assert time_per_completion_ns(round_) == 5 * MS
    assert round_statistic_ns(round_, 1, by_completion=False) == 10 * MS


def test_where_each_fourth_request_stalls_throughput_counts_the_stalls_in_full():
    # one in flight: 5 ms, and each fourth call 12 ms longer, which makes 8 ms per completion
    calls = [5 * MS, 5 * MS, 5 * MS, 17 * MS] * 3
    assert time_per_completion_ns(synchronous(0, calls)) == 8 * MS
    assert np.median(calls) == 5 * MS


def test_a_clock_that_sees_nothing_still_gives_a_finite_logarithm():
    assert round_statistic_ns(synchronous(0, [0, 0, 0]), 1, by_completion=False) == pytest.approx(1e-3)


TIMING = Timing(burn_in_blocks=0)


def with_batches(**batches: int) -> Group:
    asked = group(*batches)
    cells = [replace(cell, load=replace(cell.load, batch=batches[cell.id])) for cell in asked.cells]
    return replace(asked, cells=tuple(cells))


def records(**latencies_ms: float) -> list[LaunchRecord]:
    return [
        launch(
            number,
            [
                measured(cell, [synchronous(block, [ms * MS] * 5) for block in range(5)])
                for cell, ms in latencies_ms.items()
            ],
        )
        for number in range(4)
    ]


def log_ratio(asked: Group, found: list[LaunchRecord]) -> float:
    log_ns = observe(asked, found, TIMING)[0].log_ns
    return log_ns["b"][0] - log_ns["a"][0]


def test_rows_of_different_batches_are_compared_by_time_per_sample() -> None:
    found = records(a=10.0, b=40.0)
    assert log_ratio(with_batches(a=1, b=8), found) == pytest.approx(math.log(40 / 8 / 10))
    assert log_ratio(with_batches(a=8, b=8), found) == pytest.approx(math.log(4))


def test_latency_can_be_asked_for_where_batches_differ() -> None:
    asked = replace(with_batches(a=1, b=8), goal=Goal("latency"))
    assert log_ratio(asked, records(a=10.0, b=40.0)) == pytest.approx(math.log(4))


def test_latency_of_streams_is_that_of_a_request() -> None:
    overlapping = streamed(0, [-10 * MS, 0, 10 * MS], [10 * MS, 20 * MS, 30 * MS])
    found = [launch(0, [measured("a", [synchronous(0, [10.0 * MS] * 3)]), measured("b", [overlapping])])]
    asked = group("a", "b", streams={"b": 2})
    assert log_ratio(replace(asked, goal=Goal("latency")), found) == pytest.approx(math.log(2))
    assert log_ratio(asked, found) == pytest.approx(0)


def busy(round_: Round, processors: float) -> Round:
    wall_ns = round_.evidence.wall_ns
    return replace(round_, evidence=Evidence(wall_ns, round(processors * wall_ns), 0, 0, 0, 0, 0))


def test_cost_is_the_processor_time_per_sample() -> None:
    rounds = {"a": busy(synchronous(0, [10.0 * MS] * 3), 1.0), "b": busy(synchronous(0, [6.0 * MS] * 3), 2.0)}
    found = [launch(0, [measured(cell, [own]) for cell, own in rounds.items()])]
    asked = replace(group("a", "b"), goal=Goal("cost"))
    assert log_ratio(asked, found) == pytest.approx(math.log(12 / 10))
    assert log_ratio(replace(asked, goal=None), found) == pytest.approx(math.log(6 / 10))


def test_a_row_that_answers_too_late_is_no_candidate_and_says_so() -> None:
    asked = replace(with_batches(a=1, b=8, c=4), goal=Goal("fps", max_latency_ms=35.0))
    found = records(a=10.0, b=40.0, c=30.0)
    eligibility = decide_eligibility(asked, found, Admission())
    eligibility = within_max_latency(eligibility, asked, found, observe(asked, found, TIMING))
    assert eligibility.candidates == ("a", "c")
    assert {cell: mark.p90_ms for cell, mark in eligibility.too_slow.items()} == {"b": pytest.approx(40.0)}
    table = summarise(asked, found, TIMING, Admission(), stopped_by="target", seconds=1.0)
    assert table.winner is not None
    assert table.winner.cell == "c"
    marks = {row.id: [mark.code for mark in row.marks] for row in table.cells}
    assert marks == {"a": [], "b": ["above-max-latency"], "c": []}
    assert table.goal == asked.goal


def test_the_mark_of_a_row_that_answers_too_late_names_the_limit_that_was_given() -> None:
    found = records(a=10.0, b=40.0)

    def said(goal: Goal) -> list[str]:
        asked = replace(with_batches(a=1, b=8), goal=goal)
        table = summarise(asked, found, TIMING, Admission(), stopped_by="target", seconds=1.0)
        return [mark.text() for row in table.cells for mark in row.marks]

    assert said(Goal("fps", 35.0)) == ["not a candidate: p90 of 40 ms is above --max-latency"]
    level = ServiceLevel(99, 35)
    assert said(Goal("fps", 35.0, level)) == ["not a candidate: p90 of 40 ms is above the 35 ms of --slo"]


def test_what_was_asked_for_is_not_contradicted_by_other_figures() -> None:
    slow_calls = [synchronous(block, [8.0 * MS] * 3 + [100.0 * MS]) for block in range(5)]
    even = [synchronous(block, [10.0 * MS] * 4) for block in range(5)]
    found = [launch(number, [measured("a", even), measured("b", slow_calls)]) for number in range(4)]

    def reason(asked: Group) -> str | None:
        table = summarise(asked, found, TIMING, Admission(), stopped_by="target", seconds=1.0)
        assert table.lead is not None
        return table.lead.reason

    assert reason(group("a", "b")) == "throughput-disagrees"
    assert reason(replace(group("a", "b"), goal=Goal("latency"))) is None


def test_rare_slow_calls_count_only_where_there_are_enough_to_tell() -> None:
    rare = [synchronous(block, [10.0 * MS] * 6 + [90.0 * MS] * 2) for block in range(6)]
    few = [synchronous(block, [10.0 * MS] * 6 + [90.0 * MS] * 2) for block in range(4)]

    def too_slow(rounds: list[Round]) -> bool:
        asked = replace(group("a", "b"), goal=Goal("fps", max_latency_ms=50.0))
        found = [launch(number, [measured("a", rounds), measured("b", rounds)]) for number in range(4)]
        eligibility = decide_eligibility(asked, found, Admission())
        return "a" in within_max_latency(eligibility, asked, found, observe(asked, found, TIMING)).too_slow

    assert too_slow(rare)
    assert not too_slow(few)
