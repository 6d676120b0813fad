"""The trace of a run: spans as long as they were measured, on a thread for each request in flight."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cold_and_soak_runs import cold, soak_example
from exports import OPENVINO, ORT, TIMING, run_of, speed_launch, stored_run, text
from hypothesis import given
from hypothesis import strategies as st
from launches import MS
from stored_plans import stored_plan

from irbench.core.record import LaunchRecord, PacedRun, Sustained
from irbench.render.formats.chrome_trace import BLOCKS, SampleTrack, Span, lanes_of, launch_spans
from irbench.stats.observed import sort_blocks
from irbench.stats.rederive import planned_timing
from irbench.store.runs import read_launches


def trace(*runs: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text("chrome-trace", *runs))["traceEvents"]
    return found


def spans_of(record: LaunchRecord) -> list[Span]:
    blocks = sort_blocks(record, planned_timing(stored_plan(timing=TIMING)))
    return list(launch_spans(record, blocks, {OPENVINO: 2}))


def chosen(spans: list[Span], category: str, cell: str) -> list[Span]:
    return [span for span in spans if span.category == category and span.track.cell == cell]


@pytest.mark.ci
def test_each_launch_is_a_process_and_each_request_in_flight_a_thread(tmp_path: Path):
    events = trace(stored_run(tmp_path))
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert [name.rpartition(", ")[2] for name in processes.values()] == ["launch 0", "launch 1"]
    threads = [event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == 1]
    assert threads == ["blocks", "ort", "openvino x2, request 1", "openvino x2, request 2", "tf"]


def test_every_call_is_a_span_as_long_as_its_latency(tmp_path: Path):
    run = stored_run(tmp_path)
    calls = [event for event in trace(run) if event.get("cat") == "call"]
    latencies = sorted(
        latency / 1000
        for record in read_launches(run.folder, run.document)
        for cell in record.cells
        for round_ in cell.rounds
        for latency in round_.latency_ns.tolist()
    )
    assert sorted(event["dur"] for event in calls) == latencies
    assert {event["args"]["counts"] for event in calls if event["args"]["block"] == 0} == {False}  # burn-in


def test_rounds_lie_in_their_block_in_the_order_in_which_they_ran():
    spans = spans_of(speed_launch(0))
    blocks = [span for span in spans if span.track.cell == BLOCKS]
    assert [(block.start_ns, block.end_ns) for block in blocks[1:]] == [
        (before.end_ns, before.end_ns + before.duration_ns) for before in blocks[:-1]
    ]
    for number, block in enumerate(blocks):
        ort, openvino = (chosen(spans, "round", cell)[number] for cell in (ORT, OPENVINO))
        first, second = (openvino, ort) if number % 2 else (ort, openvino)
        assert (first.start_ns, second.start_ns) == (block.start_ns, first.end_ns)
        assert second.end_ns <= block.end_ns


def test_calls_end_where_their_round_ends():
    spans = spans_of(speed_launch(0))
    for round_ in chosen(spans, "round", ORT):
        own = [span for span in chosen(spans, "call", ORT) if span.facts["block"] == round_.facts["block"]]
        assert [span.duration_ns for span in own] == [10 * MS] * 3
        assert own[-1].end_ns == round_.end_ns


def test_phases_come_before_blocks_and_what_runs_alone_after_them():
    record = speed_launch(0)
    cells = (replace(record.cells[0], tail_ns=np.array([7, 8, 9])), record.cells[1])
    spans = spans_of(replace(record, cells=cells, sustained=(Sustained(ORT, 90, 5 * MS),)))
    blocks = [span for span in spans if span.category == "block"]
    assert [span.name for span in chosen(spans, "phase", ORT)] == ["import", "load", "compile", "first inference"]
    assert max(span.end_ns for span in spans if span.category == "phase") == blocks[0].start_ns
    tail = chosen(spans, "tail", ORT)
    assert [span.duration_ns for span in tail] == [7, 8, 9]
    assert tail[0].start_ns == blocks[-1].end_ns
    (alone,) = chosen(spans, "sustained", ORT)
    assert (alone.start_ns, alone.duration_ns, alone.facts["completions"]) == (tail[-1].end_ns, 5 * MS, 90)


def test_the_tail_of_streams_takes_turns_on_its_lanes():
    record = speed_launch(0)
    cells = (record.cells[0], replace(record.cells[1], tail_ns=np.array([5, 6, 7])))
    tail = chosen(spans_of(replace(record, cells=cells)), "tail", OPENVINO)
    assert [span.track for span in tail] == [
        SampleTrack(OPENVINO, 0),
        SampleTrack(OPENVINO, 1),
        SampleTrack(OPENVINO, 0),
    ]
    assert tail[2].start_ns == tail[0].end_ns


def test_paced_calls_lie_where_they_were_issued_on_the_slot_that_they_went_to():
    record = speed_launch(0)
    paced = PacedRun(10 * MS, 2, np.array([0, 10, 25]) * MS, np.array([8, 25, 31]) * MS)
    cell = replace(record.cells[1], paced=paced, tail_ns=np.array([5, 6, 7]))
    spans = spans_of(replace(record, cells=(record.cells[0], cell)))
    end_ns = max(span.end_ns for span in spans if span.category == "tail")
    calls = chosen(spans, "paced", OPENVINO)
    assert [(span.start_ns - end_ns, span.duration_ns) for span in calls] == [
        (0, 8 * MS),
        (10 * MS, 15 * MS),
        (25 * MS, 6 * MS),
    ]
    assert [span.track.lane for span in calls] == [0, 1, 0]
    assert calls[2].facts["due_ns"] == 20 * MS


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 30)), max_size=40))
def test_requests_of_a_lane_never_overlap_and_no_lane_is_too_many(requests: list[tuple[int, int]]):
    issue = [start for start, _ in requests]
    completion = [start + lasts for start, lasts in requests]
    lanes = lanes_of(issue, completion)
    by_lane = defaultdict(list)
    for lane, start, end in zip(lanes, issue, completion, strict=True):
        by_lane[lane].append((start, end))
    for spans in by_lane.values():
        ordered = sorted(spans)
        assert all(before[1] <= after[0] for before, after in pairwise(ordered))
    in_flight = [sum(start <= moment < start + lasts for start, lasts in requests) for moment in issue]
    assert len(by_lane) == max(in_flight, default=0)


def test_spans_of_a_thread_lie_within_one_another_or_apart(tmp_path: Path):
    """Perfetto draws nothing else: a span that begins within another must end within it."""
    threads = defaultdict(list)
    for event in trace(stored_run(tmp_path), run_of(cold(), 2), run_of(soak_example(), 3)):
        if event["ph"] == "X":
            span = (round(event["ts"] * 1000), -round((event["ts"] + event["dur"]) * 1000))
            threads[event["pid"], event["tid"]].append(span)
    assert len(threads) > 8
    for spans in threads.values():
        enclosing: list[int] = []
        for start, negative_end in sorted(spans):
            while enclosing and enclosing[-1] <= start:
                enclosing.pop()
            assert not enclosing or -negative_end <= enclosing[-1]
            enclosing.append(-negative_end)


def test_cold_starts_are_a_process_for_each_round_with_their_phases():
    events = trace(run_of(cold()))
    processes = [event for event in events if event["name"] == "process_name"]
    assert len(processes) == 8
    spans = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert [event["name"] for event in spans[:5]] == ["start", "import", "load", "compile", "first inference"]
    assert sum(event["dur"] for event in spans[:5]) * 1000 == cold().cold_starts[0].rows[0].launches[0].ready_ns


def test_a_soak_is_its_blocks_and_the_memory_at_the_end_of_each():
    events = trace(run_of(soak_example()))
    memory = [event["args"]["bytes"] for event in events if event["ph"] == "C" and "memory of ort," in event["name"]]
    series = soak_example().soaks[0].rows[0].series
    assert series is not None
    assert tuple(memory) == series.resident_bytes
    assert sum(event.get("cat") == "block" for event in events) == 120 + 120 + 30
