"""One inference of each profiled backend in the trace format of Chrome, which Perfetto opens.

Each backend is a process, and each of its threads or queues a thread. Where a runtime tells no starts, operators are
laid end to end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from irbench.profiling.joining import JoinedCell, joined_cells
from irbench.profiling.record import ProfileDocument
from irbench.store.files import explained
from irbench.system.files import replacing

__all__ = ["operator_trace", "write_trace"]

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
        "positions": "durations are measured; where a runtime tells no starts, operators are laid end to end",
    }
    yield f'{{"displayTimeUnit":"ms","otherData":{_text(origin)},"traceEvents":[\n'
    separator = ""
    for number, cell in enumerate(joined_cells(document), 1):
        for event in (*_names(cell, number), *_spans(cell, number)):
            yield separator + _text(event)
            separator = ",\n"
    yield "\n]}\n"


def _names(cell: JoinedCell, number: int) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": cell.cell.label}}
    yield {"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}
    for thread in sorted({span.thread or 0 for span in cell.cell.timeline}):
        name = f"thread {thread}"
        yield {"ph": "M", "name": "thread_name", "pid": number, "tid": thread, "args": {"name": name}}


def _spans(cell: JoinedCell, number: int) -> Iterator[dict[str, Any]]:
    end_ns = 0
    for span in cell.cell.timeline:
        operator = cell.operators[span.operator]
        start_ns = end_ns if span.start_ns is None else span.start_ns
        end_ns = start_ns + span.duration_ns
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
            "tid": span.thread or 0,
            "ts": start_ns / _NS_PER_US,
            "dur": span.duration_ns / _NS_PER_US,
            "args": {key: value for key, value in facts.items() if value},
        }


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
