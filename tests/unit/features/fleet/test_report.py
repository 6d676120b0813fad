"""Rows are kept whatever became of them; the cheapest machine is named only where its interval decides that."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import cell, document, failed, group

from irbench.core.row import Spans
from irbench.features.fleet import report
from irbench.features.fleet.journal import JobRecord, JournalDocument, TargetRecord
from irbench.features.fleet.messages import TableOutcome
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.report import FleetOverview, MachineRow, report_of


def row(table: str, target: str, cost: float, *, spread: float = 0.01, model: str = "m") -> MachineRow:
    fps = 100 / cost
    return MachineRow(
        table=table,
        model=model,
        row="ort",
        target=target,
        run="r",
        p50=None,
        fps=Spans(fps, low=fps * (1 - spread), high=fps * (1 + spread)) if spread else Spans(fps),
        cost_per_million=cost,
        is_right=True,
        is_too_slow=False,
    )


def cheapest(*rows: MachineRow) -> list[list[str]]:
    overview = FleetOverview("f", 1, (), (), rows)
    return [[row.target for row in candidates] for candidates in overview.cheapest]


def test_each_table_and_model_has_a_cheapest_of_its_own():
    rows = (row("batch=1", "a", 3.0), row("batch=1", "b", 2.0), row("batch=8", "a", 0.5), row("batch=8", "b", 1.0))
    assert cheapest(*rows) == [["b"], ["a"]]
    assert cheapest(*rows[:2], row("batch=1", "a", 9.0, model="n")) == [["b"], ["a"]]


def test_no_row_wins_where_the_intervals_overlap_or_are_not_known():
    assert cheapest(row("t", "a", 2.0), row("t", "b", 2.01), row("t", "c", 3.0)) == [["a", "b"]]
    assert cheapest(row("t", "a", 2.0), row("t", "b", 3.0, spread=0)) == [["a", "b"]]
    assert cheapest(row("t", "a", 2.0, spread=0), row("t", "b", 3.0)) == [["a", "b"]]


def test_a_row_that_failed_on_a_machine_is_kept_with_its_reason_and_is_not_the_cheapest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    runs = {
        "fails": document(group(failed("ort"), cell("openvino", fps=100.0))),
        "answers": document(group(cell("ort", fps=50.0), cell("openvino", state="mismatch", output_error=None))),
    }
    monkeypatch.setattr(report, "find_run", lambda _, run: run)
    monkeypatch.setattr(report, "load_document", runs.__getitem__)
    fleet = report_of(journal({"a": "fails", "b": "answers"}), tmp_path)
    states = {(row.row, row.target): (row.state, row.is_right) for row in fleet.rows}
    assert states == {
        ("ort", "a"): ("failed", None),
        ("ort", "b"): ("ok", True),
        ("openvino", "a"): ("ok", True),
        ("openvino", "b"): ("mismatch", False),
    }
    (gone,) = (row for row in fleet.rows if row.state == "failed")
    assert gone.failure is not None
    assert (gone.failure.stage, gone.fps, gone.cost_per_million) == ("compile", None, None)
    assert "SIGSEGV" in fleet.to_json()
    assert [[(row.row, row.target) for row in rows] for rows in fleet.cheapest] == [[("openvino", "a"), ("ort", "b")]]


def test_a_table_that_no_target_was_there_for_says_what_is_wrong_with_each():
    problems = {
        "a": TargetProblem(code="irbench-version", there="0.0.9", needed="0.1.0"),
        "b": TargetProblem(code="no-answer"),
    }
    record = JobRecord(job="j", pool="p", kind="no-target", labels=("t",), problems=problems)
    whole = JournalDocument(
        name="f", fleet="1", created="", irbench_version="0.1.0", plan={}, planned=1, jobs={"j": record}
    )
    (table,) = report_of(whole, Path()).tables
    assert table.problem == "a: it has irbench 0.0.9, and 0.1.0 is needed; b: it does not answer"


def journal(runs: dict[str, str]) -> JournalDocument:
    """Return the journal of a fleet whose targets each measured the same table, by the ids of their runs."""
    jobs = {
        name: JobRecord(
            job=name, pool=name, kind="measured", target=name, labels=("t",), tables=(TableOutcome("t", run),)
        )
        for name, run in runs.items()
    }
    targets = {name: TargetRecord(name=name, pool=name, price_per_hour=1.0) for name in runs}
    return JournalDocument(
        name="f", fleet="1", created="", irbench_version="0.1.0", plan={}, planned=1, jobs=jobs, targets=targets
    )
