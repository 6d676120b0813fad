"""One inference of each profiled backend in the trace format of Chrome, which Perfetto opens.

Each backend is a process, and each of its threads or queues a thread; the runtime's own work has rows of its own. Where
a runtime tells no starts, operators are laid end to end. What takes no time is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from irbench.profiling.joining import JoinedCell, joined_cells
from irbench.profiling.record import ProfileDocument
from irbench.render.formats.trace_tracks import Slice, Track, tracks_of
from irbench.render.json_text import json_line
from irbench.store.files import explained
from irbench.system.files import replacing

_NS_PER_US = 1000


def write_trace(document: ProfileDocument, output: Path) -> None:
    """Write the trace of a profile to a file, which appears when it is whole.

    Raises:
        IrbenchError: It cannot be written.
    """
    with explained(output, "name another file with --trace"), replacing(output.resolve()) as file:
        for piece in operator_trace(document):
            file.write(piece.encode())


def operator_trace(document: ProfileDocument) -> Iterator[str]:
    """Yield a trace event on each line."""
    origin = {
        "profile": document.profile_id,
        "model": document.model,
        "positions": "durations are measured, without what is nested; without starts, operators are laid end to end",
    }
    yield f'{{"displayTimeUnit":"ms","otherData":{_text(origin)},"traceEvents":[\n'
    separator = ""
    for number, cell in enumerate(joined_cells(document), 1):
        tracks = tracks_of(_slices(cell))
        for event in chain(_names(cell, number, tracks), *(_events(cell, number, track) for track in tracks)):
            yield separator + _text(event)
            separator = ",\n"
    yield "\n]}\n"


def _names(cell: JoinedCell, number: int, tracks: Sequence[Track]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": cell.cell.label}}
    yield {"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}
    for place, track in enumerate(tracks):
        whose = {"ph": "M", "pid": number, "tid": track.number}
        yield {**whose, "name": "thread_name", "args": {"name": track.name}}
        yield {**whose, "name": "thread_sort_index", "args": {"sort_index": place}}


def _slices(cell: JoinedCell) -> Iterator[Slice]:
    """Yield what can be drawn; what takes no time cannot."""
    end_ns = 0
    for span in cell.cell.timeline:
        start_ns = end_ns if span.start_ns is None else span.start_ns
        end_ns = start_ns + span.duration_ns
        if span.duration_ns > 0:
            is_overhead = cell.operators[span.operator].profile.is_overhead
            yield Slice(span.operator, span.thread or 0, start_ns, end_ns, is_overhead)


def _events(cell: JoinedCell, number: int, track: Track) -> Iterator[dict[str, Any]]:
    for drawn in track.slices:
        operator = cell.operators[drawn.operator]
        profile = operator.profile
        facts = {
            "operator": profile.kind,
            "nodes": [node.name for node in operator.nodes],
            "kernel": profile.implementation,
            "device": profile.device,
            "flops": operator.flops,
        }
        yield {
            "ph": "X",
            "name": profile.name,
            "cat": str(operator.operator_class),
            "pid": number,
            "tid": track.number,
            "ts": drawn.start_ns / _NS_PER_US,
            "dur": (drawn.end_ns - drawn.start_ns) / _NS_PER_US,
            "args": {key: value for key, value in facts.items() if value},
        }


def _text(value: Any) -> str:
    return json_line(value)
