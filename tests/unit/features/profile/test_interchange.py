"""A profile for other programs: one inference as a trace."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import profiles
from profiles import cell, document, operator

from irbench.features.profile.interchange import operator_trace
from irbench.features.profile.profile_document import TimelineSpan


def test_a_trace_has_a_process_for_each_backend_and_lays_operators_end_to_end_without_starts() -> None:
    ort, openvino = profiles.ort(), profiles.openvino()
    told = (TimelineSpan(0, 5_000, 1_000, 1), TimelineSpan(1, 2_000, 3_000, 2))
    untold = (TimelineSpan(0, None, 4_000, None), TimelineSpan(1, None, 6_000, None))
    traced = document(replace(ort, timeline=told), replace(openvino, timeline=untold), kinds=profiles.KINDS)
    events = json.loads("".join(operator_trace(traced)))["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {1: "ort", 2: "openvino"}
    spans = [(event["pid"], event["tid"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]
    assert spans == [(1, 1, 5.0, 1.0), (1, 2, 2.0, 3.0), (2, 0, 0.0, 4.0), (2, 0, 4.0, 6.0)]
    (conv,) = (event for event in events if event["name"] == "conv")
    assert conv["args"]["nodes"] == ["block/conv", "block/relu"]
    assert conv["cat"] == "matrix"


def test_slices_of_a_row_of_a_trace_nest_or_are_disjoint_and_none_is_lost_but_those_without_length() -> None:
    names = ("run", "execute", "MatMul_0", "If_0", "Gelu_1", "Add_in_If", "Late", "nothing")
    times = ((0, 2), (1, 16), (2, 13), (13, 18), (15, 21), (13, 14), (21, 25), (25, 25))
    operators = tuple(operator(name, name, 1.0, is_overhead=name in ("run", "execute")) for name in names)
    spans = tuple(
        TimelineSpan(place, 1_000 * start, 1_000 * (end - start), thread)
        for thread in (1, 2)
        for place, (start, end) in enumerate(times)
    )
    traced = document(replace(cell("ort", operators, [1], [1]), timeline=spans))
    events = json.loads("".join(operator_trace(traced)))["traceEvents"]
    slices = [(event["tid"], event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X"]
    assert sorted((start, end) for _, start, end in slices) == sorted([*times[:-1], *times[:-1]])
    for (row, start, end), (other_row, other_start, other_end) in combinations(slices, 2):
        is_disjoint = end <= other_start or other_end <= start
        nests = (start <= other_start and other_end <= end) or (other_start <= start and end <= other_end)
        assert row != other_row or is_disjoint or nests
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert rows[1] == "thread 1"
    assert len(rows) == len(set(rows.values())) == len({row for row, _, _ in slices})
    own = {rows[event["tid"]] for event in events if event["name"] == "execute"}
    assert own == {"thread 1: runtime's own time (2)", "thread 2: runtime's own time (2)"}
