"""Traced steps as people read them: beside what was measured, or with the reason why xprof says nothing."""

from __future__ import annotations

from dataclasses import replace

from documents import document
from training_steps import cell, table

from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.row import row_of
from irbench.core.training_row import StepOverview, StepTraceRow, StepTraceTable
from irbench.features.train.view import step_trace_views

CELLS = (cell(32, prefetch="0"), cell(32, prefetch="auto"))
CONCLUSION = "Your program is HIGHLY input-bound because 28.3% of the total step time sampled is waiting for input."
OVERVIEW = StepOverview(8, 20.0, {"Input": 5.0, "Host compute": 15.0, "Device compute": 0.0}, "host", CONCLUSION)
TRACE = "traces/plugins/profile/32-0/steps.xplane.pb"
UNREADABLE = Failure("measure", "xprof does not read the trace: it is cut short")
TRACED, FAILED = (
    row_of(StepTraceRow, CELLS[0], effective={}, state="ok", trace=TRACE, overview=OVERVIEW),
    row_of(StepTraceRow, CELLS[1], effective={}, state="failed", failure=UNREADABLE),
)


def run(*rows: StepTraceRow, unread: Failure | None = None) -> RunDocument:
    speeds = table([(CELLS[0], (6.0, 12.0)), (CELLS[1], (1.0, 12.0))])
    traces = StepTraceTable(
        table=0, model="net", batch=32, shapes={}, traced_steps=12, xprof_version="2.24.2", stopped_by="launches",
        unread=unread, rows=rows,
    )  # fmt: skip
    return replace(document(speeds), step_traces=(traces,))


def shown(found: RunDocument, width: int = 200) -> str:
    (view,) = step_trace_views(found.step_traces[0], found)
    return "\n".join(line.plain for line in view.as_lines(width))


def test_what_xprof_says_stands_beside_what_was_measured() -> None:
    text = shown(run(TRACED))
    (line,) = (line for line in text.splitlines() if "prefetch=0" in line)
    assert line.split()[2:7] == ["18.0", "33.3", "20.0", "25.0", "75.0"]
    assert CONCLUSION in line
    assert "2.24.2" in text
    assert "Device compute" not in text


def test_on_narrow_terminals_xprofs_words_stay() -> None:
    assert "HIGHLY" in shown(run(TRACED), 60)


def test_a_trace_that_cannot_be_read_has_its_reason_and_the_measured_step() -> None:
    (line,) = (line for line in shown(run(TRACED, FAILED)).splitlines() if "prefetch=auto" in line)
    assert "13.0" in line
    assert UNREADABLE.message in line


def test_why_xprof_is_missing_is_said_once_and_where_the_trace_is() -> None:
    missing = Failure("start", "no environment was built", "Check the network.")
    text = shown(run(replace(TRACED, overview=None), unread=missing))
    assert text.count(missing.message) == 1
    assert "Check the network." in text
    assert TRACE in text
