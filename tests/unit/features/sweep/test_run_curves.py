"""A sweep doubles the batch until that gains too little or memory would be full."""

from __future__ import annotations

import json
from pathlib import Path

import documents
import pytest
from measured_sweeps import Answer, Measured, install, plan, statuses, sweep

from irbench.core.result import GroupResult
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.sweep import execution as sweep_execution


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    return install(tmp_path / "results", monkeypatch)


def curve(fps: dict[int, float], peak_gb: float = 0.1) -> Answer:
    """Return what measures a row of this throughput at each batch, and of memory that grows with the batch."""

    def answer(table: SweepTable) -> GroupResult:
        memory = {"process": round(peak_gb * table.batch * 1e9)}
        row = documents.cell("fake-a", fps=fps[table.batch], batch=table.batch, peak_memory_bytes=memory)
        return documents.group(row, batch=table.batch)

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


def test_a_curve_ends_before_memory_is_full(measured: Measured, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_execution.host, "available_memory_bytes", lambda: 5 * 10**9)
    measured.answer = curve({2**step: 100 * 2**step for step in range(8)}, peak_gb=1.0)
    found = sweep(plan(batch="doubling"))
    assert measured.batches == [1, 2, 4]
    assert "ended at batch 4: fake-a would need 8.0 GB at twice that, and 5.0 GB are free" in str(found)
    assert "no knee up to batch 4" in str(found)


def test_a_curve_waits_where_a_smaller_batch_could_not_be_measured(measured: Measured):
    def fail(table: SweepTable) -> GroupResult:
        if table.batch == 4:
            raise IrbenchError("No.", hint="Yes.")
        return curve({1: 100, 2: 200})(table)

    measured.answer = fail
    found = sweep(plan(batch="doubling", **{"largest-batch": 16}))
    assert measured.batches == [1, 2, 4]
    measured.answer = curve({4: 400, 8: 401, 16: 401})
    found = sweep(plan(batch="doubling", **{"largest-batch": 16}), resume=True)
    assert measured.batches[3:] == [4, 8]
    assert found.is_complete


def test_a_sweep_as_json_names_its_runs_cells_and_points(measured: Measured):
    measured.answer = curve({1: 100, 2: 101})
    found = json.loads(sweep(plan(batch="doubling", **{"largest-batch": 4})).to_json())
    assert [table["status"] for table in found["tables"]] == ["done", "done", "left-out"]
    assert [cell["settings"]["batch"] for table in found["tables"] for cell in table["cells"]] == [1, 2, 4]
    (only,) = found["curves"]
    assert [(point["batch"], point["rows"][0]["fps"]) for point in only["points"]] == [(1, 100), (2, 101)]
    assert only["end"]["reason"] == "saturated"
