"""A profile for other programs: flat rows as CSV and as a DataFrame, and one inference as a trace of Chrome."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irbench.core.counter_row import CounterFigure
from irbench.features.profile.joining import JoinedCell, joined_cells
from irbench.features.profile.profile_document import ProfileDocument
from irbench.features.profile.report import By, ClassCounters, PartRow, ProfileReport
from irbench.render.text_formats import csv_cell, json_line
from irbench.store.file_errors import explained
from irbench.system.file_access import replacing
from irbench.system.installation import require_libraries

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ProfileRow:
    """A part of an inference on one backend. ``None`` is what is unknown.

    Attributes:
        profile_id: The profile's.
        model: What was profiled.
        batch: Samples per inference.
        label: What tables call the backend with its settings.
        backend: The backend.
        device: Where it ran.
        by: What parts are: ``class``, ``op`` or ``node``.
        key: The class of work, the operator types with their class, or the first node of the group; a runtime's own
            operator type stands in parentheses where it computes no node. Rows of several backends are compared by it.
        name: What tables call the part; of operators, what their runtime calls them. Those of one key and backend add
            up to what a table of several backends shows.
        operator_class: Its class of work.
        op_types: Types of the ONNX nodes that it stands for, with spaces between them.
        nodes: How many nodes of the exported graph it has; only of groups of nodes.
        time_ms: Time of an inference in it: the median over launches.
        time_low_ms: Lower end of its interval; ``None`` where there are too few launches for one.
        time_high_ms: Upper end; ``None`` likewise.
        share: Its share of the time of all operators, from 0 to 1.
        share_low: Lower end of its interval; ``None`` likewise.
        share_high: Upper end; ``None`` likewise.
        flops: Floating-point operations of an inference.
        gflops_per_s: A thousand million of them per second.
        peak_share: Share of the machine's peak of matrix products that these are, as a fraction.
        executions: How often its operators are executed in an inference.
        launches: In how many launches it was measured.
        is_preview: Whether there are too few launches for intervals.
        counted_share: Of its time, how much is in operators that were counted, from 0 to 1; only of classes of work.
        counters: What counters saw of these operators; only of classes of work.
        time_range_low_ms: The smallest launch, where there are too few for an interval and more than one; ``None``
            otherwise.
        time_range_high_ms: The largest launch; ``None`` likewise.
    """

    profile_id: str
    model: str
    batch: int
    label: str
    backend: str
    device: str
    by: By
    key: str
    name: str
    operator_class: str
    op_types: str
    nodes: int | None
    time_ms: float
    time_low_ms: float | None
    time_high_ms: float | None
    share: float
    share_low: float | None
    share_high: float | None
    flops: int | None
    gflops_per_s: float | None
    peak_share: float | None
    executions: int
    launches: int
    is_preview: bool
    counted_share: float | None = None
    counters: tuple[CounterFigure, ...] = ()
    time_range_low_ms: float | None = None
    time_range_high_ms: float | None = None


def profile_rows(document: ProfileDocument, report: ProfileReport, by: By) -> tuple[ProfileRow, ...]:
    """Return a row for each part in each cell that executes it, cell by cell."""
    counters = {(row.cell, row.operator_class): row for row in report.counters if by == "class"}
    parts = tuple(replace(part, key=row.key) for row in report.operators for part in row.parts)
    return tuple(
        _row(document, place, by, part, counters.get((cell.id, part.operator_class)))
        for place, cell in enumerate(document.cells)
        for part in (parts if by == "op" else report.rows(by))
        if cell.id in part.figures
    )


def rows_as_csv(rows: Sequence[ProfileRow]) -> str:
    """Return comma-separated lines, the names of the columns first; what is unknown is empty, and counters are JSON."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [column.name for column in fields(ProfileRow)], lineterminator="\n")
    writer.writeheader()
    plain_rows = ({**asdict(row), "counters": json_line(row.counters) if row.counters else ""} for row in rows)
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in plain_rows)
    return buffer.getvalue()


def rows_to_pandas(rows: Sequence[ProfileRow]) -> pd.DataFrame:
    """Return rows as a DataFrame."""
    require_libraries(("pandas",), "pandas is not installed.")
    import pandas as pd

    frame = pd.DataFrame([asdict(row) for row in rows], columns=[column.name for column in fields(ProfileRow)])
    return frame.astype({**dict.fromkeys(_WHOLE_OR_UNKNOWN, "Int64"), **dict.fromkeys(_REAL_OR_UNKNOWN, "float64")})


_WHOLE_OR_UNKNOWN = ("nodes", "flops")
_REAL_OR_UNKNOWN = (
    "time_low_ms", "time_high_ms", "share_low", "share_high", "gflops_per_s", "peak_share", "counted_share",
    "time_range_low_ms", "time_range_high_ms",
)  # fmt: skip


def _row(document: ProfileDocument, place: int, by: By, part: PartRow, counted: ClassCounters | None) -> ProfileRow:
    cell = document.cells[place]
    figures = part.figures[cell.id]
    time, share = figures.time_ns, figures.share
    rate = figures.flops_per_s
    is_preview, has_range = time.confidence is None, time.confidence is None and len(cell.launches) > 1
    return ProfileRow(
        profile_id=document.profile_id,
        model=document.model,
        batch=document.batch,
        label=cell.label,
        backend=cell.backend,
        device=cell.device,
        by=by,
        key=part.key,
        name=part.name,
        operator_class=str(part.operator_class),
        op_types=" ".join(part.op_types),
        nodes=len(part.nodes) or None,
        time_ms=time.value / 1e6,
        time_low_ms=None if is_preview else time.low / 1e6,
        time_high_ms=None if is_preview else time.high / 1e6,
        share=share.value,
        share_low=None if is_preview else share.low,
        share_high=None if is_preview else share.high,
        flops=figures.flops,
        gflops_per_s=None if rate is None else rate / 1e9,
        peak_share=figures.peak_share,
        executions=figures.executions,
        launches=len(cell.launches),
        is_preview=is_preview,
        counted_share=None if counted is None else counted.counted_share,
        counters=() if counted is None else counted.figures,
        time_range_low_ms=time.low / 1e6 if has_range else None,
        time_range_high_ms=time.high / 1e6 if has_range else None,
    )


@dataclass(frozen=True)
class Slice:
    """What is drawn of one execution of an operator."""

    operator: int
    thread: int
    start_ns: int
    end_ns: int
    is_overhead: bool


@dataclass(frozen=True)
class TraceTrack:
    """One row of a trace, in which slices nest or are disjoint.

    Attributes:
        number: Unique in its trace's process; the first row of a thread's operators has the thread's number.
        name: What the viewer calls it.
        slices: By their start, enclosing ones first.
    """

    number: int
    name: str
    slices: tuple[Slice, ...]


def tracks_of(slices: Iterable[Slice]) -> tuple[TraceTrack, ...]:
    """Return the rows of all threads: of each its operators, then the runtime's own work, in as many as these need."""
    drawn = tuple(slices)
    threads = sorted({each.thread for each in drawn})
    following = max(threads, default=0) + 1
    tracks: list[TraceTrack] = []
    for thread in threads:
        for is_overhead in (False, True):
            own = [each for each in drawn if (each.thread, each.is_overhead) == (thread, is_overhead)]
            for place, row in enumerate(_rows(own)):
                is_first = not (place or is_overhead)
                number = thread if is_first else following
                following += not is_first
                tracks.append(TraceTrack(number, _name(thread, place, is_overhead=is_overhead), tuple(row)))
    return tuple(tracks)


def _name(thread: int, place: int, *, is_overhead: bool) -> str:
    whose = f"thread {thread}: runtime's own time" if is_overhead else f"thread {thread}"
    return f"{whose} ({place + 1})" if place else whose


def _rows(slices: Sequence[Slice]) -> list[list[Slice]]:
    rows: list[tuple[list[Slice], list[Slice]]] = []
    for each in sorted(slices, key=lambda each: (each.start_ns, -each.end_ns)):
        if not any(_takes(*row, each) for row in rows):
            rows.append(([each], [each]))
    return [drawn for drawn, _ in rows]


def _takes(drawn: list[Slice], enclosing: list[Slice], new: Slice) -> bool:
    """Add a slice that begins no earlier than all before, unless it would end in the middle of another."""
    while enclosing and enclosing[-1].end_ns <= new.start_ns:
        enclosing.pop()
    if enclosing and enclosing[-1].end_ns < new.end_ns:
        return False
    enclosing.append(new)
    drawn.append(new)
    return True


_NS_PER_US = 1000


def write_trace(document: ProfileDocument, output: Path) -> None:
    """Write the trace of a profile to a file, which appears when it is whole."""
    with explained(output, "name another file with --trace"), replacing(output.resolve()) as file:
        for piece in operator_trace(document):
            file.write(piece.encode())


def operator_trace(document: ProfileDocument) -> Iterator[str]:
    """Yield a trace event on each line; Perfetto opens the whole.

    Each backend is a process, and each of its threads or queues a thread; the runtime's own work has rows of its own.
    Where a runtime tells no starts, operators are laid end to end. What takes no time is left out.

    Viewers take slices of a row for calls and what they call: these nest, or one ends before the next begins. Times of
    operators are without what is nested in them, so drawn from their start they may end in the middle of another.
    """
    origin = {
        "profile": document.profile_id,
        "model": document.model,
        "positions": "durations are measured, without what is nested; without starts, operators are laid end to end",
    }
    yield f'{{"displayTimeUnit":"ms","otherData":{json_line(origin)},"traceEvents":[\n'
    separator = ""
    for number, cell in enumerate(joined_cells(document), 1):
        tracks = tracks_of(_slices(cell))
        for event in chain(_names(cell, number, tracks), *(_events(cell, number, track) for track in tracks)):
            yield separator + json_line(event)
            separator = ",\n"
    yield "\n]}\n"


def _names(cell: JoinedCell, number: int, tracks: Sequence[TraceTrack]) -> Iterator[dict[str, Any]]:
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


def _events(cell: JoinedCell, number: int, track: TraceTrack) -> Iterator[dict[str, Any]]:
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
