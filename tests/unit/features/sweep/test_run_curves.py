"""A sweep doubles the batch until that gains too little or memory would be full."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import launches
import pytest
from measured_sweeps import Answer, Measured, install, plan, statuses, sweep

from irbench.core.record import LaunchRecord
from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import Doubling, Matrix, SweepTable, expand
from irbench.features.plan.table_options import SweepSetup, table_options
from irbench.features.sweep import execution as sweep_execution
from irbench.spec import Bundle, Cell, Load, Timing, Workload
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    return install(tmp_path / "results", monkeypatch)


def curve(fps: dict[int, float], peak_gb: float = 0.1, noise: Sequence[float] = (1.0,) * 6) -> Answer:
    """Return what measures a row of this throughput at each batch, and of memory that grows with the batch.

    Args:
        fps: By batch.
        peak_gb: Of a sample.
        noise: How many times as long a batch takes in each launch than one that is half as large, besides.
    """

    def answer(table: SweepTable) -> tuple[GroupResult, Sequence[LaunchRecord]]:
        batches = [batch for batch in (table.batch_before, table.batch) if batch is not None]
        group = replace(
            launches.group(*map(str, batches)),
            workloads=tuple(Workload(Bundle("net", (), ()), {"batch": batch}) for batch in batches),
            cells=tuple(
                Cell(f"fake-a/{batch}", None, "fake-a", "cpu", Load(batch=batch, threads=2), workload=place)
                for place, batch in enumerate(batches)
            ),
            baseline=f"fake-a/{batches[0]}",
        )
        times_ms = {
            f"fake-a/{batch}": [1e3 * batch / fps[batch] * (slow if place else 1.0) for slow in noise]
            for place, batch in enumerate(batches)
        }
        memory = {f"fake-a/{batch}": {"process": round(peak_gb * batch * 1e9)} for batch in batches}
        records = [
            replace(record, cells=tuple(replace(own, peak_memory_bytes=memory[own.cell]) for own in record.cells))
            for record in launches.even(times_ms)
        ]
        timing = Timing()
        found = summarise(group, records, timing, Admission(), stopped_by="target", seconds=1.0)
        return found, records

    return answer


def test_a_curve_ends_where_doubling_gains_too_little(measured: Measured):
    measured.answer = curve({1: 100, 2: 180, 4: 300, 8: 310})
    found = sweep(plan(batch="doubling", **{"largest-batch": 64}))
    assert measured.batches == [1, 2, 4, 8]
    assert statuses(found) == {
        1: "done",
        2: "done",
        4: "done",
        8: "done",
        16: "left-out",
        32: "left-out",
        64: "left-out",
    }
    assert found.is_complete
    assert "fake-a: knee at batch 4, beyond which doubling gains less than 5 %" in str(found)
    assert "ended at batch 8: doubling gained less than 5 % in every row that ran" in str(found)
    assert sweep(plan(batch="doubling", **{"largest-batch": 64}), resume=True).is_complete
    assert len(measured.batches) == 4


def test_a_table_of_a_curve_measures_the_batch_before_beside_its_own():
    lists = {"models": ("net",), "backends": ("fake-a", "fake-b")}
    tables = expand([Matrix(lists, ("backends",), doubling=Doubling(3, 24))], seed=0).tables
    asked = {table.batch: table_options(table, SweepSetup("night", Path(), Path())).batch for table in tables}
    assert asked == {3: (3,), 6: (3, 6), 12: (6, 12), 24: (12, 24)}
    assert [table.row_count for table in tables] == [2, 4, 4, 4]


def test_a_gain_is_of_one_table_whatever_the_machine_did_between_two(measured: Measured):
    """Throughputs of 121, 62, 112 and 71 were measured one after the other; side by side each doubling gains 20 %."""
    at_the_time = iter((1.0, 0.43, 0.65, 0.34))

    def answer(table: SweepTable) -> tuple[GroupResult, Sequence[LaunchRecord]]:
        speed = next(at_the_time)
        return curve({batch: 121 * speed * 1.2 ** (batch.bit_length() - 1) for batch in (1, 2, 4, 8)})(table)

    measured.answer = answer
    found = sweep(plan(batch="doubling", **{"largest-batch": 8}))
    (only,) = found.overview.curves
    gains = [point.rows[0].gain for point in only.points]
    assert [gained and round(gained.value, 3) for gained in gains] == [None, 0.2, 0.2, 0.2]
    assert [point.rows[0].name for point in only.points] == ["fake-a"] * 4
    assert "fake-a: no knee up to batch 8" in str(found)
    assert "Highest FPS" not in str(found)  # of tables that were measured one after the other


def test_a_knee_is_not_stated_of_a_machine_that_was_too_busy_to_tell(measured: Measured):
    measured.answer = curve({1: 121, 2: 121, 4: 121, 8: 121}, noise=(0.6, 1.6, 0.7, 1.4, 0.9, 1.2))
    found = sweep(plan(batch="doubling", **{"largest-batch": 4}))
    assert measured.batches == [1, 2, 4]
    assert "fake-a: knee unknown: the last doubling gained" in " ".join(str(found).split())
    assert "knee at" not in str(found)


def test_a_curve_ends_before_memory_is_full(measured: Measured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_execution.host, "available_memory_bytes", lambda: 5 * 10**9)
    measured.answer = curve({2**step: 100 * 2**step for step in range(8)}, peak_gb=1.0)
    found = sweep(plan(batch="doubling"))
    assert measured.batches == [1, 2, 4]
    assert "ended at batch 4: fake-a would need 8.0 GB at twice that, and 5.0 GB are free" in str(found)
    assert "no knee up to batch 4" in str(found)


def test_a_curve_waits_where_a_smaller_batch_could_not_be_measured(measured: Measured):
    def fail(table: SweepTable) -> Any:
        if table.batch == 4:
            raise IrbenchError("No.", hint="Yes.")
        return curve({1: 100, 2: 200})(table)

    measured.answer = fail
    found = sweep(plan(batch="doubling", **{"largest-batch": 16}))
    assert measured.batches == [1, 2, 4]
    measured.answer = curve({2: 200, 4: 400, 8: 401, 16: 401})
    found = sweep(plan(batch="doubling", **{"largest-batch": 16}), resume=True)
    assert measured.batches[3:] == [4, 8]
    assert found.is_complete


def test_a_sweep_as_json_names_its_runs_cells_and_points(measured: Measured):
    measured.answer = curve({1: 100, 2: 101})
    found = json.loads(sweep(plan(batch="doubling", **{"largest-batch": 4})).to_json())
    assert [table["status"] for table in found["tables"]] == ["done", "done", "left-out"]
    assert [cell["settings"]["batch"] for table in found["tables"] for cell in table["cells"]] == [1, 2, 4]
    (only,) = found["curves"]
    shown = [(point["batch"], round(point["rows"][0]["fps"])) for point in only["points"]]
    assert shown == [(1, 100), (2, 101)]
    assert only["end"]["reason"] == "saturated"
