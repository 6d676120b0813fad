"""A run that has everything that a run can have."""

from __future__ import annotations

from dataclasses import replace

from cold_and_soak_runs import cold, serving_example, soak_example
from counter_runs import counted
from documents import cell, document, example, failed, group

from irbench.core.result import RunDocument
from irbench.notices import Mark, Note, Warn


def everything() -> RunDocument:
    """Return a run of every kind of table, with every warning, note and mark."""
    marks = tuple(mark.example() for mark in Mark.known)
    said = group(
        cell("ort", marks=marks),
        cell("openvino", state="mismatch"),
        failed("tf"),
        failed("tf-xla", state="not-applicable"),
        warnings=tuple(warning.example() for warning in Warn.known),
        notes=tuple(note.example() for note in Note.known),
    )
    counters = counted(timeline_ms=100)
    return replace(
        document(example(), said, *counters.groups),
        cold_starts=cold().cold_starts,
        soaks=soak_example().soaks,
        serving=serving_example().serving,
        counters=tuple(replace(table, table=2) for table in counters.counters),
        complete=False,
    )
