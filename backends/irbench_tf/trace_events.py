"""The events of a trace that TensorFlow's profiler wrote: runs of a session, and operators on threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RUN = "SessionRun"
_HOST = "/host:CPU"
_INSTRUCTION, _MODULE, _STARTS, _ENDS = "hlo_op", "hlo_module", "_p", "_c"
_END = "end: "
"""What the name of the event begins with which says that an instruction of XLA has ended."""


@dataclass
class TraceEvent:
    """One interval on one thread.

    Attributes:
        kind: Its operator; empty for an instruction.
        module: That an instruction belongs to; empty for a node.
        end_ps: When the thread went on to something else.
        done_ps: When it was done: an instruction of XLA may be so later, on other threads.
        inside_ps: Time of the events directly within it.
    """

    name: str
    kind: str
    module: str
    start_ps: int
    end_ps: int
    line: int
    done_ps: int = 0
    inside_ps: int = 0

    def __post_init__(self) -> None:
        self.done_ps = max(self.done_ps, self.end_ps)


def read_events(space: Any) -> tuple[Sequence[TraceEvent], Sequence[TraceEvent]]:
    """Return the runs and the operators of an ``XSpace`` message, each in the order of their starts."""
    reader = _Reader()
    for plane in (plane for plane in space.planes if plane.name == _HOST):
        for place, line in enumerate(plane.lines):
            for event in line.events:
                reader.take(plane, line.timestamp_ns * 1000, place, event)
    for flow, event in reader.started.items():
        event.done_ps = max(event.done_ps, reader.ended.get(flow, 0))
    runs, operators = reader.runs, reader.operators
    return sorted(runs, key=lambda run: run.start_ps), sorted(operators, key=lambda event: event.start_ps)


def nest(events: Sequence[TraceEvent]) -> Sequence[TraceEvent]:
    """Return events in the order of their starts, with the time of those that lie within them on their threads."""
    ordered = sorted(events, key=lambda event: (event.start_ps, -event.end_ps))
    open_on: dict[int, list[TraceEvent]] = {}
    for event in ordered:
        around = open_on.setdefault(event.line, [])
        while around and around[-1].end_ps <= event.start_ps:
            around.pop()
        if around:
            around[-1].inside_ps += event.end_ps - event.start_ps
        around.append(event)
    return ordered


class _Reader:
    """Sorts events; what starts and what ends an instruction of XLA has the same number."""

    def __init__(self) -> None:
        self.runs: list[TraceEvent] = []
        self.operators: list[TraceEvent] = []
        self.started: dict[int, TraceEvent] = {}
        self.ended: dict[int, int] = {}

    def take(self, plane: Any, origin_ps: int, line: int, event: Any) -> None:
        reported = plane.event_metadata[event.metadata_id]
        start_ps = origin_ps + event.offset_ps
        interval = (start_ps, start_ps + event.duration_ps, line)
        if reported.name == RUN:
            self.runs.append(TraceEvent(RUN, RUN, "", *interval))
        elif reported.display_name and reported.name.endswith(f":{reported.display_name}"):
            name = reported.name.removesuffix(f":{reported.display_name}")
            self.operators.append(TraceEvent(name, reported.display_name, "", *interval))
        elif event.stats and not reported.display_name:
            stats = {plane.stat_metadata[stat.metadata_id].name: stat for stat in event.stats}
            self._instruction(plane, reported.name, stats, interval)

    def _instruction(self, plane: Any, name: str, stats: Mapping[str, Any], interval: tuple[int, int, int]) -> None:
        if name.startswith(_END) and _ENDS in stats:
            self.ended[_number(stats[_ENDS])] = interval[0]
        elif _INSTRUCTION in stats:
            module = _text(plane, stats[_MODULE]) if _MODULE in stats else ""
            event = TraceEvent(_text(plane, stats[_INSTRUCTION]), "", module, *interval)
            self.operators.append(event)
            if _STARTS in stats:
                self.started[_number(stats[_STARTS])] = event


def _number(stat: Any) -> int:
    number: int = stat.uint64_value or stat.int64_value
    return number


def _text(plane: Any, stat: Any) -> str:
    referred: str = plane.stat_metadata[stat.ref_value].name if stat.WhichOneof("value") == "ref_value" else ""
    return stat.str_value or referred
