"""One inference of each profiled backend in the trace format of Chrome, which Perfetto opens.

Each backend is a process, and each of its threads or queues a thread; the runtime's own work has rows of its own. Where
a runtime tells no starts, operators are laid end to end. What takes no time is left out.

Viewers take slices of a row for calls and what they call: these nest, or one ends before the next begins. Times of
operators are without what is nested in them, so drawn from their start they may end in the middle of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from irbench.features.profile.joining import JoinedCell, joined_cells
from irbench.features.profile.record import ProfileDocument
from irbench.render.json_text import json_line
from irbench.store.files import explained
from irbench.system.file_access import replacing


@dataclass(frozen=True)
class Slice:
    """What is drawn of one execution of an operator.

    Attributes:
        operator: Place of the operator in its cell.
        thread: Number of its thread or queue; 0 where it is unknown.
        start_ns: Since the inference's first operator.
        end_ns: Later than its start.
        is_overhead: Whether this is the runtime's own work.
    """

    operator: int
    thread: int
    start_ns: int
    end_ns: int
    is_overhead: bool = False


@dataclass(frozen=True)
class Track:
    """One row of a trace, in which slices nest or are disjoint.

    Attributes:
        number: Unique in its trace's process; the first row of a thread's operators has the thread's number.
        name: What the viewer calls it.
        slices: By their start, enclosing ones first.
    """

    number: int
    name: str
    slices: tuple[Slice, ...]


def tracks_of(slices: Iterable[Slice]) -> tuple[Track, ...]:
    """Return the rows of all threads: of each its operators, then the runtime's own work.

    A thread has as many rows as its slices need.

    Args:
        slices: Of one cell.
    """
    found = list(slices)
    threads = sorted({each.thread for each in found})
    following = max(threads, default=0) + 1
    tracks: list[Track] = []
    for thread in threads:
        for is_overhead in (False, True):
            own = [each for each in found if (each.thread, each.is_overhead) == (thread, is_overhead)]
            for place, row in enumerate(_rows(own)):
                is_first = not (place or is_overhead)
                number = thread if is_first else following
                following += not is_first
                tracks.append(Track(number, _name(thread, place, is_overhead=is_overhead), tuple(row)))
    return tuple(tracks)


def _name(thread: int, place: int, *, is_overhead: bool) -> str:
    whose = f"thread {thread}: runtime's own time" if is_overhead else f"thread {thread}"
    return f"{whose} ({place + 1})" if place else whose


@dataclass
class _Row:
    slices: list[Slice] = field(default_factory=list[Slice])
    open_: list[Slice] = field(default_factory=list[Slice])

    def takes(self, new: Slice) -> bool:
        """Add a slice that begins no earlier than all before, unless it would end in the middle of another."""
        while self.open_ and self.open_[-1].end_ns <= new.start_ns:
            self.open_.pop()
        if self.open_ and self.open_[-1].end_ns < new.end_ns:
            return False
        self.open_.append(new)
        self.slices.append(new)
        return True


def _rows(slices: Sequence[Slice]) -> list[list[Slice]]:
    rows: list[_Row] = []
    for each in sorted(slices, key=lambda each: (each.start_ns, -each.end_ns)):
        if not any(row.takes(each) for row in rows):
            rows.append(_Row())
            rows[-1].takes(each)
    return [row.slices for row in rows]


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
