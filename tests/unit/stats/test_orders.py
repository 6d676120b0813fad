"""Where p50, FPS and speedup put two rows in different orders, that is said, and no order is claimed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from derived_runs import stored
from front_door import irbench
from launches import MS, block, group, launch, measured, synchronous
from summaries import table

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.spec import Goal
from irbench.stats.orders import Against, OrderConflict

Script = Callable[[int, int], Sequence[float]]
"""Latencies of the calls of a round in milliseconds, by launch and block."""


def steady(ms: float) -> Script:
    return lambda _launch, _block: [ms] * 3


def few_fast_blocks(_launch: int, number: int) -> Sequence[float]:
    """Be fastest in most blocks, and make most calls in the others: 3.5 ms against a p50 of 13.4 ms."""
    return [13.4] * 9 if number < 2 else [3.5] * 3


def slow_at_first(_launch: int, number: int) -> Sequence[float]:
    return [40.0] * 3 if number < 2 else [4.18] * 3


def records(scripts: Mapping[str, Script], launches: int, blocks: int = 6, busy: int = 0) -> list[LaunchRecord]:
    def one(number: int) -> LaunchRecord:
        cells = [
            measured(name, [synchronous(at, [ms * MS for ms in script(number, at)]) for at in range(blocks)])
            for name, script in scripts.items()
        ]
        return launch(number, cells, blocks=tuple(block(at, throttled_ns=int(at < busy)) for at in range(blocks)))

    return [one(number) for number in range(launches)]


CONTRADICTING: Mapping[str, Script] = {"ort": slow_at_first, "openvino": few_fast_blocks}


def orders(found: GroupResult) -> dict[str, Any]:
    (facts,) = (warning.facts for warning in found.warnings if warning.code == "orders-differ")
    return json.loads(msgspec.json.encode(facts))


@pytest.mark.parametrize("launches", [1, 3])
def test_a_preview_tells_no_order_where_its_figures_tell_two(launches: int, tmp_path: Path):
    run = stored(tmp_path, records(CONTRADICTING, launches), "ort", "openvino")
    called = irbench("show", run.document.run_id, "--results", tmp_path, "--warnings")
    text = " ".join(called.out.split())
    assert "preview: whether openvino or ort is faster cannot be told: openvino is 1.89x as fast by speedup," in text
    assert "but its p50 is 13.4 ms against 4.18" in text
    assert "openvino leads" not in text
    assert "neither is believed" in text
    assert f"After {launches} launch" in text


def test_a_preview_of_a_busy_machine_tells_none_either(tmp_path: Path):
    run = stored(tmp_path, records(CONTRADICTING, 3, busy=4), "ort", "openvino")
    called = irbench("show", run.document.run_id, "--results", tmp_path, "--warnings")
    assert "but its p50 is 13.4 ms against 4.18: neither is believed" in " ".join(called.out.split())


def test_the_fastest_is_not_named_where_another_row_has_surely_the_lower_p50(tmp_path: Path):
    run = stored(tmp_path, records(CONTRADICTING, 6), "ort", "openvino")
    called = irbench("show", run.document.run_id, "--results", tmp_path)
    assert "no winner: whether openvino or ort is faster cannot be told: openvino is 1.89x" in " ".join(
        called.out.split()
    )
    (found,) = run.document.groups
    assert (found.winner, found.lead and found.lead.reason) == (None, "p50-disagrees")
    assert orders(found)["rows"][0]["believed"] is None


def test_the_speedup_is_believed_where_its_interval_tells_two_rows_apart_and_those_of_p50_do_not():
    def slower_launches_of(late: float) -> Script:  # a row is 10 % faster in every launch, and ran in slower ones
        return lambda number, _at: [late * (10.0 + 4 * (number % 2)) * (5 if number > 6 else 1)] * 3

    raced = records({"a": slower_launches_of(1.0), "b": slower_launches_of(0.9)}, 12)
    short = [
        launch(
            record.launch,
            [cell for cell in record.cells if record.launch < 7 or cell.cell == "b"],
            blocks=record.blocks,
        )
        for record in raced
    ]
    found = table(group("a", "b"), short)
    (row,) = orders(found)["rows"]
    assert (row["cell"], row["other"], row["believed"]) == ("b", "a", "speedup")
    assert row["lead"] == pytest.approx(1 / 0.9, rel=0.01)
    assert found.winner is not None


def test_a_lower_throughput_of_the_row_ahead_is_said_with_both_figures():
    slow_calls: Script = lambda _launch, _block: [8.0, 8.0, 40.0]  # noqa: E731
    (row,) = orders(table(group("base", "cell"), records({"base": steady(10.0), "cell": slow_calls}, 3)))["rows"]
    assert (row["cell"], row["p50_ms"]) == ("cell", None)
    assert row["fps"] == pytest.approx([53.57, 100.0], rel=0.01)


@pytest.mark.parametrize("launches", [1, 3, 6])
def test_nothing_is_said_where_all_figures_agree(launches: int):
    found = table(group("a", "b", "c"), records({"a": steady(10.0), "b": steady(8.0), "c": steady(9.9)}, launches))
    assert "orders-differ" not in {warning.code for warning in found.warnings}


def test_latencies_of_concurrent_requests_are_not_compared_with_throughputs():
    found = table(group("ort", "openvino", streams={"ort": 2, "openvino": 2}), records(CONTRADICTING, 3))
    assert {cell.id for cell in found.cells if cell.latency_ms is not None} == {"ort", "openvino"}
    assert not [
        row
        for warning in found.warnings
        if warning.code == "orders-differ"
        for row in warning.rows
        if row.p50_ms is not None
    ]


def test_each_row_is_named_with_the_row_that_contradicts_it_most():
    scripts = {"a": few_fast_blocks, "b": slow_at_first, "c": lambda n, at: [v * 1.2 for v in slow_at_first(n, at)]}
    row = next(row for row in orders(table(group("a", "b", "c"), records(scripts, 3)))["rows"] if row["cell"] == "a")
    assert row["other"] == "b"


def test_every_pair_in_conflict_is_named_the_worst_of_each_row_first(tmp_path: Path):
    scripts = {
        "a": few_fast_blocks,
        "b": slow_at_first,
        "c": lambda n, at: [v * 1.2 for v in slow_at_first(n, at)],
        "d": lambda n, at: [v * 1.1 for v in few_fast_blocks(n, at)],
    }
    run = stored(tmp_path, records(scripts, 3), *scripts)
    pairs = [(row["cell"], row["other"]) for row in orders(run.document.groups[0])["rows"]]
    assert pairs == [("a", "b"), ("d", "b"), ("a", "c"), ("d", "c")]
    text = " ".join(irbench("show", run.document.run_id, "--results", tmp_path, "--warnings").out.split())
    assert "and 1 other pair of rows." in text
    assert "Of the other pairs, d is 2.06x as fast as c, but its p50 is 14.7 ms against 5.02: neither" in text


def test_a_pair_far_from_the_leader_is_marked_where_batches_are_compared_by_throughput():
    slow_calls: Script = lambda _launch, _block: [0.94, 0.94, 0.94, 16.0]  # noqa: E731
    found = table(
        group("best", "ort", "openvino", batch=8),
        records({"best": steady(1.0), "ort": slow_calls, "openvino": steady(2.1)}, 6),
    )
    asked = replace(group("best", "ort", "openvino", batch=8), goal=Goal("fps"))
    by_fps = table(asked, records({"best": steady(1.0), "ort": slow_calls, "openvino": steady(2.1)}, 6))
    assert [row["cell"] for row in orders(found)["rows"]] == ["ort", "ort"]  # ahead by speedup, behind in FPS
    (row,) = [row for row in orders(by_fps)["rows"] if row["cell"] == "openvino"]
    assert (row["other"], row["fps"], row["p50_ms"]) == ("ort", None, pytest.approx([2.1, 0.94]))
    assert by_fps.winner is not None
    assert by_fps.winner.cell == "best"


def test_a_busy_machine_names_its_leader_and_says_that_p50_contradicts_it():
    busy = [
        replace(record, blocks=tuple(replace(own, foreign_cpu_ns=own.wall_ns) for own in record.blocks))
        for record in records({"ort": lambda _launch, _block: [0.94, 0.94, 16.0], "openvino": steady(2.1)}, 6)
    ]
    counted = [
        replace(
            record,
            cells=tuple(
                replace(
                    cell,
                    rounds=tuple(replace(own, evidence=replace(own.evidence, foreign_cpu_ns=1)) for own in cell.rounds),
                )
                for cell in record.cells
            ),
        )
        for record in busy
    ]
    found = table(group("ort", "openvino"), counted)
    assert (found.condition, found.winner and found.winner.cell) == ("busy", "openvino")
    (row,) = orders(found)["rows"]
    assert (row["cell"], row["p50_ms"]) == ("openvino", pytest.approx([2.1, 0.94]))


def test_a_row_that_surely_has_the_lower_p50_is_not_lost_behind_a_larger_contradiction_that_is_not_sure():
    a = OrderConflict("a", "b", 1.1, Against(2.0, 1.0, is_sure=False), None, believes_speedup=False)
    b = OrderConflict("a", "c", 1.1, Against(1.1, 1.0, is_sure=True), None, believes_speedup=False)
    assert max(a, b, key=lambda found: found.weight) is b


def test_throughput_contradicts_nothing_where_another_goal_was_set():
    asked = replace(group("one", "eight"), goal=Goal("latency"))
    slow_calls: Script = lambda _launch, _block: [8.0, 8.0, 40.0]  # noqa: E731
    found = table(asked, records({"one": steady(10.0), "eight": slow_calls}, 3))
    assert "orders-differ" not in {warning.code for warning in found.warnings}
