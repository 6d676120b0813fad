"""The trace format of Chrome, which Perfetto and chrome://tracing open: spans per stream and launch.

Each launch is a process, and each row in it a thread for each request in flight. Launches lie end to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irbench.cold_row import COLD_PHASES, ColdRow, ColdTable
from irbench.render.formats.exported_run import Export, ExportedRun
from irbench.render.formats.row_table import row_sources
from irbench.render.formats.trace_positions import BLOCKS, Span, Track, launch_spans
from irbench.render.json_text import json_line
from irbench.result import RunDocument
from irbench.soak_row import SoakTable
from irbench.stats.observed import sort_blocks
from irbench.stats.rederive import planned_timing
from irbench.store.reading import read_launches

_NS_PER_US = 1000


@dataclass(frozen=True)
class _Process:
    """A launch, or a table whose raw times are in the document.

    Attributes:
        name: What it is called.
        spans: From its own beginning.
        rows: What each row is called, by the id of its track.
        counters: Samples of a value over time: row, moment from its beginning, and value.
    """

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
    """Return for each table what its rows are called, by the id of their tracks."""
    found: list[dict[str, str]] = [{} for _ in document.tables]
    for source in row_sources(document):
        found[source.table_number][_track_id(source.row)] = source.label
    return found


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
        asked = {row.id: row.requested for row in document.groups[record.group].cells}
        in_flight = {row: requested.streams * requested.instances for row, requested in asked.items()}
        spans = tuple(launch_spans(record, sort_blocks(record, timing), in_flight))
        name = f"{_table_name(document, record.group)}, launch {record.launch}"
        yield _Process(name, spans, rows[record.group])
    yield from (_Process(_table_name(document, number), (), rows[number]) for number in sorted(empty))


def _cold_rounds(table: ColdTable, name: str, rows: Mapping[str, str]) -> Iterator[_Process]:
    """Yield a process for each round of cold starts, whose rows are laid end to end."""
    for number in sorted({launch.round for row in table.rows for launch in row.launches} or {0}):
        spans, start_ns = list[Span](), 0
        for row in table.rows:
            for launch in row.launches:
                for phase in COLD_PHASES if launch.round == number else ():
                    duration_ns, track = launch.phases_ns.get(phase, 0), Track(_track_id(row))
                    spans.append(Span(phase.replace("_", " "), "phase", track, start_ns, duration_ns))
                    start_ns += duration_ns
        yield _Process(f"{name}, round {number}", tuple(spans), rows)


def _soak(table: SoakTable, name: str, rows: Mapping[str, str]) -> _Process:
    """Return a soak: the blocks of each row, end to end, and its memory at the end of each."""
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
            spans.append(Span(f"block {block}", "block", Track(row.id), start_ns + begun_ns, end_ns - begun_ns, facts))
            counters.append((row.id, start_ns + end_ns, resident_bytes))
        start_ns += series.elapsed_ns[-1]
    return _Process(name, tuple(spans), rows, tuple(counters))


def _threads(process: _Process) -> dict[Track, int]:
    """Return a number for each line of the picture: the blocks first, then row by row."""
    lanes = dict.fromkeys(process.rows, 1)
    for span in process.spans:
        lanes[span.track.cell] = max(lanes.get(span.track.cell, 1), span.track.lane + 1)
    order = sorted(lanes, key=lambda cell: cell != BLOCKS)
    tracks = [Track(cell, lane) for cell in order for lane in range(lanes[cell])]
    return {track: number for number, track in enumerate(tracks, 1)}


def _names(process: _Process, number: int, threads: Mapping[Track, int]) -> Iterator[dict[str, Any]]:
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
