"""Which rows are traced after they were measured: those that failed are not, nor those that no time is left for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from documents import document
from training_steps import CRASH, cell, table
from virtual_watches import VirtualTime

from irbench.core.result import RunDocument
from irbench.core.training_row import StepTraceTable
from irbench.errors import IrbenchError
from irbench.features.train import step_traces
from irbench.runner import rounds
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.runner.workers import CellFailed
from irbench.runs import mode_tables
from irbench.spec import Bundle, Cell, Group, Timing, Workload
from irbench.store.runs import RunWriter
from irbench_tf.training.session import trace_in

MEASURED_S, TRACE_S = 1.0, 10.0
CELLS = (cell(32, xla="off"), cell(32, xla="on"), cell(32, xla="twice"))


@dataclass
class Writer:
    """A run in memory whose rows were measured in :data:`MEASURED_S`."""

    document: RunDocument
    logs: Path = Path()
    attached: list[Path] = field(default_factory=list)

    def commit(self, found: RunDocument) -> RunDocument:
        self.document = found
        return found

    def add_attachment(self, place: Path, _data: bytes) -> str:
        self.attached.append(place)
        return str(place)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass only while a row is traced; xprof cannot be installed."""
    now = VirtualTime()

    def no_xprof(*_: object) -> None:
        raise IrbenchError("uv is not installed.")

    def trace_of(_traces: object, traced: Cell) -> bytes:
        now.s += TRACE_S
        if traced.load.varied["xla"] == "twice":
            raise CellFailed(CRASH)
        return b"trace"

    monkeypatch.setattr(rounds, "Stopwatch", now.watch)
    monkeypatch.setattr(mode_tables, "Rounds", lambda **facts: rounds.Rounds(**facts, watch=now.watch()))
    monkeypatch.setattr(step_traces, "build", no_xprof)
    monkeypatch.setattr(step_traces.StepTraces, "_trace_of", trace_of)


def traced(scratch: Path, budget_s: float) -> StepTraceTable:
    """Return the table of traces where this was the budget of the whole run."""
    speeds = table([(cell, (1.0, 2.0)) for cell in CELLS])
    assert speeds.seconds == MEASURED_S
    group = Group((Workload(Bundle("net", (), (), workload="training"), {"batch": 32}),), CELLS, CELLS[0].id)
    request = RunRequest((), (), timing=Timing(budget=budget_s), traced_steps=12)
    writer = Writer(document(speeds))
    planned = (PlannedGroup(group),)
    found = mode_tables.measure_tables(
        step_traces.StepTraces, "step_traces", request, planned, scratch, cast("RunWriter", writer), print
    )
    (traces,) = found.step_traces
    assert len(writer.attached) == sum(bool(row.trace) for row in traces.rows)
    return traces


def states(traces: StepTraceTable) -> list[str]:
    return [row.state for row in traces.rows]


def test_each_row_that_was_measured_is_traced_once_and_one_that_fails_says_why(tmp_path: Path) -> None:
    traces = traced(tmp_path, 1200.0)
    assert (traces.stopped_by, states(traces)) == ("launches", ["ok", "ok", "failed"])
    assert traces.rows[2].failure == CRASH
    assert traces.unread is not None


def test_no_row_is_traced_once_measuring_took_the_whole_budget(tmp_path: Path) -> None:
    traces = traced(tmp_path, MEASURED_S)
    assert (traces.stopped_by, states(traces)) == ("budget", ["not-measured"] * 3)


def test_the_budget_is_asked_before_each_row(tmp_path: Path) -> None:
    traces = traced(tmp_path, MEASURED_S + 1.5 * TRACE_S)
    assert (traces.stopped_by, states(traces)) == ("budget", ["ok", "not-measured", "not-measured"])


def test_a_profiler_that_wrote_no_trace_is_told_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="wrote 0 traces"):
        trace_in(tmp_path)
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "host.xplane.pb").write_bytes(b"trace")
    assert trace_in(tmp_path) == b"trace"
