"""What rows are compared by, and who may be called the best."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from launches import MS, group, launch, measured, streamed, synchronous

from irbench.core.record import Evidence, LaunchRecord, Round
from irbench.spec import Goal, Group, Timing
from irbench.stats.eligibility import Admission, decide_eligibility
from irbench.stats.figures import within_max_latency
from irbench.stats.observed import observe
from irbench.stats.summary import summarise

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
    assert eligibility.too_slow == {"b": pytest.approx(40.0)}
    table = summarise(asked, found, TIMING, Admission(), stopped_by="target", seconds=1.0)
    assert table.winner is not None
    assert table.winner.cell == "c"
    marks = {row.id: [mark.code for mark in row.marks] for row in table.cells}
    assert marks == {"a": [], "b": ["above-max-latency"], "c": []}
    assert table.goal == asked.goal


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
