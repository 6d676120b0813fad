"""The trace format of Chrome, which Perfetto and chrome://tracing open: spans per stream and launch.

Each launch is a process, and each row in it a thread for each request in flight. Launches lie end to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from irbench.cold_row import COLD_PHASES, ColdTable, cold_names
from irbench.record import LaunchRecord
from irbench.render.formats.exported_run import Export, ExportedRun
from irbench.render.formats.trace_positions import BLOCKS, Span, Track, launch_spans
from irbench.result import RunDocument, row_names, tell_apart
from irbench.soak_row import SoakTable
from irbench.stats.observed import sort_blocks
from irbench.stats.rederive import planned_timing

__all__ = ["as_chrome_trace"]

_NS_PER_US = 1000


@dataclass(frozen=True)
class _Process:
    """A launch, or a table whose raw times are in the document.

    Attributes:
        name: What it is called.
        spans: From its own beginning.
        rows: What each row is called, by id.
        counters: Samples of a value over time: row, moment from its beginning, and value.
    """

    name: str
    spans: tuple[Span, ...]
    rows: Mapping[str, str]
    counters: tuple[tuple[str, int, int], ...] = ()


def as_chrome_trace(export: Export) -> Iterator[str]:
    """Yield a trace event on each line; a row that was not measured is a thread without spans."""
    origin = {
        "runs": [run.document.run_id for run in export.runs],
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
    if document.groups:
        timing = planned_timing(document.plan)
        seen = set[int]()
        for record in run.launches():
            seen.add(record.group)
            spans = tuple(launch_spans(record, sort_blocks(record, timing)))
            yield _Process(_launch_name(document, record), spans, row_names(document.groups[record.group].cells))
        for number, group in enumerate(document.groups):
            if number not in seen:
                yield _Process(_table_name(document, number, group.model), (), row_names(group.cells))
    for number, table in enumerate(document.cold_starts):
        yield from _cold_rounds(table, _table_name(document, number, table.model))
    for number, soak in enumerate(document.soaks):
        yield _soak(soak, _table_name(document, number, soak.model))


def _table_name(document: RunDocument, number: int, model: str) -> str:
    return f"run {document.run_id}, table {number}, {model}"


def _launch_name(document: RunDocument, record: LaunchRecord) -> str:
    return f"{_table_name(document, record.group, document.groups[record.group].model)}, launch {record.launch}"


def _cold_rounds(table: ColdTable, name: str) -> Iterator[_Process]:
    """Yield a process for each round of cold starts, whose rows are laid end to end."""
    labels = {f"{cell}, {cache}": label for (cell, cache), label in cold_names(table).items()}
    for number in sorted({launch.round for row in table.rows for launch in row.launches} or {0}):
        spans, start_ns = list[Span](), 0
        for row in table.rows:
            for launch in row.launches:
                for phase in COLD_PHASES if launch.round == number else ():
                    duration_ns, track = launch.phases_ns.get(phase, 0), Track(f"{row.id}, {row.cache}")
                    spans.append(Span(phase.replace("_", " "), "phase", track, start_ns, duration_ns))
                    start_ns += duration_ns
        yield _Process(f"{name}, round {number}", tuple(spans), labels)


def _soak(table: SoakTable, name: str) -> _Process:
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
    names = tell_apart({row.id: (row.label, row.requested.precision) for row in table.rows})
    return _Process(name, tuple(spans), names, tuple(counters))


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
    return msgspec.json.encode(value).decode()
