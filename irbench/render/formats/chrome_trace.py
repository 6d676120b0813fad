"""The trace format of Chrome, which Perfetto and chrome://tracing open: spans per stream and launch.

Each launch is a process, and each row in it a thread for each request in flight. Launches lie end to end.

A launch's file holds how long each block and round took, in which order the rounds of a block ran, and when each call
of a round was issued and completed from the opening of the round's timed window. It does not hold when a block, a round
or a window began. So blocks are laid end to end, the rounds of a block too, from its beginning, and a window ends where
its round ends. Phases before the first block are laid end to end for each row from the beginning of the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irbench.core.cold_row import COLD_PHASES, ColdRow, ColdTable
from irbench.core.record import BlockEvidence, CellLaunch, LaunchRecord, Round
from irbench.core.result import RunDocument
from irbench.core.soak_row import SoakTable
from irbench.render.formats.exported_run import Export, ExportedRun
from irbench.render.formats.row_table import row_sources
from irbench.render.text_formats import json_line
from irbench.stats.observed import Blocks, sort_blocks
from irbench.stats.rederive import blocks_in_table, planned_timing
from irbench.store.runs import read_launches

_PHASES = ("import", "load", "compile", "first_inference", "new_shape", "warm_up")
"""In the order of time."""

BLOCKS = ""
"""The id of the track that shows blocks rather than a row."""


@dataclass(frozen=True)
class SampleTrack:
    """A line of the picture: a row, and which of its requests in flight.

    Attributes:
        cell: The row's id, or :data:`BLOCKS`.
    """

    cell: str
    lane: int = 0


@dataclass(frozen=True)
class Span:
    """Something that took time.

    Attributes:
        category: ``phase``, ``block``, ``round``, ``call``, ``tail``, ``paced`` or ``sustained``.
        start_ns: From the beginning of the launch.
        duration_ns: How long it took; measured, wherever it lies.
    """

    name: str
    category: str
    track: SampleTrack
    start_ns: int
    duration_ns: int
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def end_ns(self) -> int:
        """Where it ends, from the beginning of the launch."""
        return self.start_ns + self.duration_ns


def launch_spans(record: LaunchRecord, blocks: Blocks, in_flight: Mapping[str, int]) -> Iterator[Span]:
    """Yield the spans of a launch."""
    end_ns = 0
    for cell in record.cells:
        for span in _phases(cell):
            end_ns = max(end_ns, span.end_ns)
            yield span
    for block in record.blocks:
        spans = list(_block(record, block, blocks, end_ns))
        end_ns = max(span.end_ns for span in spans if span.category in ("block", "round"))
        yield from spans
    for cell in record.cells:
        for span in _alone(cell, in_flight.get(cell.cell, 1), end_ns):
            end_ns = max(end_ns, span.end_ns)
            yield span
    for run in record.sustained:
        facts = {"completions": run.completions}
        yield Span("sustained run", "sustained", SampleTrack(run.cell), end_ns, run.wall_ns, facts)
        end_ns += run.wall_ns


def lanes_of(issue_ns: Sequence[int], completion_ns: Sequence[int]) -> list[int]:
    """Return a lane for each request, so that those of a lane do not overlap and there are as few lanes as can be.

    Which stream a request ran on is not known; how many were in flight is.
    """
    lanes, free_at_ns = [0] * len(issue_ns), list[int]()
    for index in sorted(range(len(issue_ns)), key=lambda index: issue_ns[index]):
        fitting = (lane for lane, free in enumerate(free_at_ns) if free <= issue_ns[index])
        lane = next(fitting, len(free_at_ns))
        if lane == len(free_at_ns):
            free_at_ns.append(0)
        free_at_ns[lane], lanes[index] = completion_ns[index], lane
    return lanes


def _phases(cell: CellLaunch) -> Iterator[Span]:
    start_ns = 0
    for phase in _PHASES:
        if phase in cell.phases_ns:
            yield Span(phase.replace("_", " "), "phase", SampleTrack(cell.cell), start_ns, cell.phases_ns[phase])
            start_ns += cell.phases_ns[phase]


def _block(record: LaunchRecord, block: BlockEvidence, blocks: Blocks, start_ns: int) -> Iterator[Span]:
    state = {"disturbed": block.block in blocks.dirty, "counts": block.block in blocks.counted}
    facts = {
        **state,
        "foreign_cpu_ns": block.foreign_cpu_ns,
        "throttled_ns": block.throttled_ns,
        "steal_ns": block.steal_ns,
    }
    yield Span(f"block {block.block}", "block", SampleTrack(BLOCKS), start_ns, block.wall_ns, facts)
    rounds = {
        cell.cell: (cell, measured)
        for cell in record.cells
        for measured in cell.rounds
        if measured.block == block.block
    }
    for name in block.order:
        if name in rounds:
            cell, round_ = rounds[name]
            yield from _round(cell, round_, state, start_ns)
            start_ns += _wall_ns(round_)


def _wall_ns(round_: Round) -> int:
    """Return how long a round lasted, its earliest request included."""
    return max(round_.evidence.wall_ns, int(round_.completion_ns[-1] - min(0, round_.issue_ns.min())))


def _round(cell: CellLaunch, round_: Round, state: Mapping[str, bool], start_ns: int) -> Iterator[Span]:
    wall_ns = _wall_ns(round_)
    block = {"block": round_.block, **state}
    yield Span("round", "round", SampleTrack(cell.cell), start_ns, wall_ns, {**block, "cpu_ns": round_.evidence.cpu_ns})
    opening_ns = start_ns + wall_ns - int(round_.completion_ns[-1])
    name = "call" if cell.calls_per_sample == 1 else f"{cell.calls_per_sample} calls"
    issued, completed = round_.issue_ns.tolist(), round_.completion_ns.tolist()
    for sample, (issue_ns, completion_ns, lane) in enumerate(
        zip(issued, completed, lanes_of(issued, completed), strict=True)
    ):
        span_start_ns = opening_ns + issue_ns
        yield Span(
            name,
            "call",
            SampleTrack(cell.cell, lane),
            span_start_ns,
            completion_ns - issue_ns,
            {**block, "sample": sample},
        )


def _alone(cell: CellLaunch, in_flight: int, start_ns: int) -> Iterator[Span]:
    """Yield what a row did alone after the blocks: its tail, then its calls at a pace."""
    tail = list(_tail(cell, in_flight, start_ns))
    yield from tail
    yield from _paced(cell, max((span.end_ns for span in tail), default=start_ns))


def _tail(cell: CellLaunch, in_flight: int, start_ns: int) -> Iterator[Span]:
    """Yield the calls of ``--tail``: of several in flight only how long each took is known, so lanes take turns."""
    free_at_ns = [start_ns] * in_flight
    for sample, latency_ns in enumerate(cell.tail_ns.tolist()):
        lane = sample % in_flight
        yield Span("call", "tail", SampleTrack(cell.cell, lane), free_at_ns[lane], latency_ns, {"sample": sample})
        free_at_ns[lane] += latency_ns


def _paced(cell: CellLaunch, start_ns: int) -> Iterator[Span]:
    """Yield the calls of ``--pace``, each from its issue, from the moment at which the first one was due."""
    if cell.paced is None:
        return
    issued, completed = cell.paced.issue_ns.tolist(), cell.paced.completion_ns.tolist()
    for sample, (issue_ns, completion_ns) in enumerate(zip(issued, completed, strict=True)):
        track = SampleTrack(cell.cell, sample % cell.paced.concurrency)
        due = {"sample": sample, "due_ns": sample * cell.paced.pace_ns, "issue_ns": issue_ns}
        yield Span("call", "paced", track, start_ns + issue_ns, completion_ns - issue_ns, due)


_NS_PER_US = 1000


@dataclass(frozen=True)
class _Process:
    """A launch, or a table whose raw times are in the document."""

    name: str
    spans: tuple[Span, ...]
    rows: Mapping[str, str]
    counters: tuple[tuple[str, int, int], ...] = ()


def as_chrome_trace(export: Export) -> Iterator[str]:
    """Yield a trace event on each line; a row that was not measured is a thread without spans."""
    origin = {
        "runs": [run.run_id for run in export.runs],
        "positions": "durations are measured, positions of launches, blocks and rounds are reconstructed",
    }
    yield f'{{"displayTimeUnit":"ms","otherData":{_text(origin)},"traceEvents":[\n'
    separator = ""
    for event in _events(export):
        yield separator + _text(event)
        separator = ",\n"
    yield "\n]}\n"


def _events(export: Export) -> Iterator[dict[str, Any]]:
    start_ns, number = 0, 0
    for run in export.runs:
        for process in _processes(run):
            number += 1
            threads = _threads(process)
            yield from _names(process, number, threads)
            yield from (_complete(span, number, threads[span.track], start_ns) for span in process.spans)
            yield from (_counter(sample, number, process, start_ns) for sample in process.counters)
            start_ns += max((span.end_ns for span in process.spans), default=0)


def _processes(run: ExportedRun) -> Iterator[_Process]:
    document = run.document
    rows = _rows_of_tables(document)
    if document.groups:
        yield from _launches(document, run.folder, rows)
    for number, table in enumerate(document.cold_starts):
        yield from _cold_rounds(table, _table_name(document, number), rows[number])
    for number, soak in enumerate(document.soaks):
        yield _soak(soak, _table_name(document, number), rows[number])


def _rows_of_tables(document: RunDocument) -> list[dict[str, str]]:
    labels: list[dict[str, str]] = [{} for _ in document.tables]
    for source in row_sources(document):
        labels[source.table_number][_track_id(source.row)] = source.label
    return labels


def _track_id(row: Any) -> str:
    """Return the id of a row's track: a row of cold starts shares its id with that of the other state of the caches."""
    return f"{row.id}, {row.cache}" if isinstance(row, ColdRow) else str(row.id)


def _table_name(document: RunDocument, number: int) -> str:
    return f"run {document.run_id}, table {number}, {document.tables[number].model}"


def _launches(document: RunDocument, folder: Path, rows: Sequence[Mapping[str, str]]) -> Iterator[_Process]:
    """Yield a process for each launch, and one for each table that has none: its rows failed before."""
    timing, empty = planned_timing(document.plan), set(range(len(rows)))
    for record in read_launches(folder, document):
        empty.discard(record.group)
        table = document.groups[record.group]
        requests = {row.id: row.requested for row in table.cells}
        in_flight = {row: requested.streams * requested.instances for row, requested in requests.items()}
        blocks = blocks_in_table(record, sort_blocks(record, timing), table)
        spans = tuple(launch_spans(record, blocks, in_flight))
        name = f"{_table_name(document, record.group)}, launch {record.launch}"
        yield _Process(name, spans, rows[record.group])
    yield from (_Process(_table_name(document, number), (), rows[number]) for number in sorted(empty))


def _cold_rounds(table: ColdTable, name: str, rows: Mapping[str, str]) -> Iterator[_Process]:
    for number in sorted({launch.round for row in table.rows for launch in row.launches} or {0}):
        spans, start_ns = list[Span](), 0
        for row in table.rows:
            for launch in row.launches:
                for phase in COLD_PHASES if launch.round == number else ():
                    duration_ns, track = launch.phases_ns.get(phase, 0), SampleTrack(_track_id(row))
                    spans.append(Span(phase.replace("_", " "), "phase", track, start_ns, duration_ns))
                    start_ns += duration_ns
        yield _Process(f"{name}, round {number}", tuple(spans), rows)


def _soak(table: SoakTable, name: str, rows: Mapping[str, str]) -> _Process:
    spans, counters, start_ns = list[Span](), list[tuple[str, int, int]](), 0
    for row in table.rows:
        series = row.series
        if series is None or not series.elapsed_ns:
            continue
        beginnings = (0, *series.elapsed_ns)
        columns = (series.elapsed_ns, series.calls, series.median_ns, series.resident_bytes)
        for block, (end_ns, calls, median_ns, resident_bytes) in enumerate(zip(*columns, strict=True)):
            begun_ns = beginnings[block]
            facts = {"calls": calls, "median_ns": median_ns, "resident_bytes": resident_bytes}
            spans.append(
                Span(f"block {block}", "block", SampleTrack(row.id), start_ns + begun_ns, end_ns - begun_ns, facts)
            )
            counters.append((row.id, start_ns + end_ns, resident_bytes))
        start_ns += series.elapsed_ns[-1]
    return _Process(name, tuple(spans), rows, tuple(counters))


def _threads(process: _Process) -> dict[SampleTrack, int]:
    """Return a number for each line of the picture: the blocks first, then row by row."""
    lanes = dict.fromkeys(process.rows, 1)
    for span in process.spans:
        lanes[span.track.cell] = max(lanes.get(span.track.cell, 1), span.track.lane + 1)
    order = sorted(lanes, key=lambda cell: cell != BLOCKS)
    tracks = [SampleTrack(cell, lane) for cell in order for lane in range(lanes[cell])]
    return {track: number for number, track in enumerate(tracks, 1)}


def _names(process: _Process, number: int, threads: Mapping[SampleTrack, int]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": process.name}}
    yield {"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}
    several = {track.cell for track in threads if track.lane}
    for track, thread in threads.items():
        row = process.rows.get(track.cell, track.cell) or "blocks"
        name = f"{row}, request {track.lane + 1}" if track.cell in several else row
        yield {"ph": "M", "name": "thread_name", "pid": number, "tid": thread, "args": {"name": name}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": number, "tid": thread, "args": {"sort_index": thread}}


def _complete(span: Span, number: int, thread: int, start_ns: int) -> dict[str, Any]:
    """Return a complete event: moments and durations are microseconds in this format."""
    where = {"ph": "X", "name": span.name, "cat": span.category, "pid": number, "tid": thread}
    when = {"ts": (start_ns + span.start_ns) / _NS_PER_US, "dur": span.duration_ns / _NS_PER_US}
    return {**where, **when, **({"args": span.facts} if span.facts else {})}


def _counter(sample: tuple[str, int, int], number: int, process: _Process, start_ns: int) -> dict[str, Any]:
    cell, moment_ns, value = sample
    name = f"resident memory of {process.rows[cell]}, bytes"
    return {
        "ph": "C", "name": name, "pid": number, "ts": (start_ns + moment_ns) / _NS_PER_US, "args": {"bytes": value}
    }  # fmt: skip


def _text(value: Any) -> str:
    return json_line(value)
