"""Rows are kept whatever became of them; the cheapest machine is named only where its interval decides that."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import msgspec
import pytest
from documents import cell, document, failed, group

from irbench.core.row import RowHead, Spans
from irbench.core.serving_row import LoadLimit, ServingRow, ServingTable
from irbench.errors import ExitCode
from irbench.features.fleet import report
from irbench.features.fleet.journal import JobRecord, JournalDocument, TargetRecord
from irbench.features.fleet.messages import TableOutcome, Tuned
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.report import Fleet, FleetTable, MachineRow, report_of
from irbench.features.tune.report import TunedSetting
from irbench.spec.serving import ServiceLevel


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
        price_per_hour=0.36,
    )


def cheapest(*rows: MachineRow) -> list[list[str]]:
    fleet = Fleet("f", 1, (), (), rows)
    return [[row.target for row in candidates] for candidates in fleet.cheapest]


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


def spans(value: float) -> Spans:
    return Spans(value, low=0.99 * value, high=1.01 * value)


def tuned(row: str | None) -> Tuned:
    setting = None if row is None else TunedSetting(row, row, row, 1, 1, 1, 1, "fp32")
    return Tuned(
        conclusion="better" if row else "nothing",
        setting=setting,
        is_confirmed=True,
        deciding_budget_s=None,
        search_run="s",
    )


def searches(monkeypatch: pytest.MonkeyPatch, **plan: str) -> Fleet:
    """Return a fleet whose targets recommend ort, openvino, and nothing; ort answers sooner and openvino more often."""
    ort = cell("ort", p50_over_launches=spans(5.0), fps_over_launches=spans(200.0))
    openvino = cell("openvino", p50_over_launches=spans(8.0), fps_over_launches=spans(900.0))
    runs = {"a": document(group(ort, openvino)), "b": document(group(ort, openvino)), "c": document(group(ort))}
    monkeypatch.setattr(report, "find_run", lambda _, run: run)
    monkeypatch.setattr(report, "load_document", runs.__getitem__)
    rows = {"a": ort.id, "b": openvino.id, "c": None}
    jobs = {
        name: JobRecord(
            job=name,
            pool=name,
            kind="measured",
            target=name,
            labels=("m.onnx",),
            tables=(TableOutcome("t", name, 0 if row else 3, tuned=tuned(row)),),
        )
        for name, row in rows.items()
    }
    targets = {name: TargetRecord(name=name, pool=name, price_per_hour=price) for name, price in prices().items()}
    whole = JournalDocument(
        name="f",
        fleet="1",
        created="",
        irbench_version="0.1.0",
        plan={"command": "tune", **plan},
        planned=1,
        jobs=jobs,
        targets=targets,
    )
    return report_of(whole, Path())


def prices() -> dict[str, float]:
    """Return prices by which the target that answers most often is the dearest for each answer."""
    return {"a": 1.0, "b": 9.0, "c": 1.0}


def test_a_search_on_each_machine_shows_its_recommended_setting_and_which_is_best_and_cheapest(
    monkeypatch: pytest.MonkeyPatch,
):
    fleet = searches(monkeypatch)
    assert [(row.row, row.target) for row in fleet.rows] == [("openvino", "b"), ("ort", "a")]
    assert [[row.target for row in rows] for rows in fleet.best] == [["b"]]
    assert [[row.target for row in rows] for rows in fleet.cheapest] == [["a"]]
    assert [table.target for table in fleet.tables if table.tuned and table.tuned.setting is None] == ["c"]
    assert fleet.exit_code == ExitCode.FAILED_CELL


def test_the_best_setting_is_that_of_what_was_searched_for(monkeypatch: pytest.MonkeyPatch):
    assert [[row.target for row in rows] for rows in searches(monkeypatch, objective="latency").best] == [["a"]]
    assert not searches(monkeypatch, objective="cost").best


def test_no_machine_is_the_best_where_intervals_overlap():
    rows = (row("t", "a", 1.0), row("t", "b", 1.01), row("t", "c", 3.0))
    measured = tuple(replace(each, p50=each.fps) for each in rows)
    fleet = Fleet("f", 1, (), (), measured, "tune", "fps")
    assert [[each.target for each in together] for together in fleet.best] == [["a", "b"]]


def test_served_requests_are_compared_by_the_highest_rate_that_passes_and_its_price(monkeypatch: pytest.MonkeyPatch):
    limits = {"a": (100.0, 110.0), "b": (50.0, 60.0), "c": (None, 10.0)}
    runs = {name: replace(document(), groups=(), serving=(served(*ends),)) for name, ends in limits.items()}
    monkeypatch.setattr(report, "find_run", lambda _, run: run)
    monkeypatch.setattr(report, "load_document", runs.__getitem__)
    asked = {"command": "serve", "slo": "p99<=50ms"}
    fleet = report_of(msgspec.structs.replace(journal({name: name for name in limits}), plan=asked), Path())
    rates = {row.target: (row.limit.passes_per_s, row.limit.fails_per_s) for row in fleet.rows if row.limit}
    assert rates == limits
    assert {row.fps for row in fleet.rows} == {None}
    assert [row.target for row in fleet.rows] == ["a", "b", "c"]
    assert [[row.target for row in rows] for rows in fleet.best] == [["a"]]
    ((cheapest,),) = fleet.cheapest
    assert cheapest.cost_per_million == pytest.approx(1e6 / 3600 / 100)
    assert fleet.level == "p99<=50ms"


def holding(target: str, passes: float | None, fails: float | None) -> MachineRow:
    """Return a row that was served requests, at a price of 0.36 an hour."""
    cost = 100.0 / passes if passes else None
    limit = LoadLimit("ort", passes, fails)
    return replace(row("t", target, 1.0), fps=None, cost_per_million=cost, limit=limit)


@pytest.mark.parametrize(
    ("limit", "candidates"),
    [((None, 90.0), ["a"]), ((None, 150.0), ["a", "b"]), ((None, None), ["a", "b"]), ((95.0, 99.0), ["a"])],
)
def test_a_machine_whose_rate_is_not_known_may_still_be_the_best_where_it_is_not_known_to_fail(
    limit: tuple[float | None, float | None], candidates: list[str]
):
    rows = (holding("a", 100.0, 110.0), holding("b", *limit))
    fleet = Fleet("f", 1, (), (), rows, "serve", "fps", "p99<=50ms")
    assert [[each.target for each in together] for together in fleet.best] == [candidates]
    assert [[each.target for each in together] for together in fleet.cheapest] == [candidates]


def test_nothing_is_the_best_where_no_machine_is_sure_to_hold_any_rate():
    rows = (holding("a", None, 110.0), holding("b", None, None))
    fleet = Fleet("f", 1, (), (), rows, "serve", "fps", "p99<=50ms")
    assert (fleet.best, fleet.cheapest) == ((), ())


def test_a_row_is_called_by_its_batch_where_a_run_serves_several(monkeypatch: pytest.MonkeyPatch):
    tables = tuple(served(100.0, 110.0, batch) for batch in (1, 8))
    monkeypatch.setattr(report, "find_run", lambda _, run: run)
    monkeypatch.setattr(report, "load_document", lambda _: replace(document(), groups=(), serving=tables))
    plan = {"command": "serve", "slo": "p99<=50ms"}
    fleet = report_of(msgspec.structs.replace(journal({"a": "r"}), plan=plan), Path())
    assert [row.row for row in fleet.rows] == ["ort batch 1", "ort batch 8"]


def test_rows_of_one_batch_and_several_shapes_are_not_compared(monkeypatch: pytest.MonkeyPatch):
    tables = tuple(replace(served(rate, 2 * rate), shapes={"x": (1, int(rate))}) for rate in (64.0, 128.0))
    monkeypatch.setattr(report, "find_run", lambda _, run: run)
    monkeypatch.setattr(report, "load_document", lambda _: replace(document(), groups=(), serving=tables))
    plan = {"command": "serve", "slo": "p99<=50ms"}
    fleet = report_of(msgspec.structs.replace(journal({"a": "r"}), plan=plan), Path())
    assert sorted(row.table for (row,) in fleet.best) == ["t 1x128", "t 1x64"]


def test_what_is_left_is_neither_measured_nor_beyond_the_end_of_a_curve():
    tables = (
        FleetTable("batch=1", "a", "a", "measured", "01A"),
        FleetTable("batch=64", "a", "a", "measured"),
        FleetTable("batch=1", "b", "b", "refused", problem="no"),
        FleetTable("batch=1", "removed", "removed", "measured", "01B"),
    )
    fleet = Fleet("f", 3, (), tables, (), pools=("a", "b"))
    assert (fleet.all_tables, fleet.left) == (7, 4)


def served(passes_per_s: float | None, fails_per_s: float | None, batch: int = 1) -> ServingTable:
    """Return a table of requests to one row, which was given two loads."""
    row = cell("ort", batch=batch)
    loads = (ServingRow(**{item.name: getattr(row, item.name) for item in fields(RowHead)}),) * 2
    return ServingTable(
        model="m",
        batch=batch,
        shapes={},
        scenario="server",
        level=ServiceLevel(99.0, 50.0),
        confidence=0.95,
        seconds=1.0,
        rounds=1,
        group=0,
        stopped_by="launches",
        rows=loads,
        limits=(LoadLimit(row.id, passes_per_s, fails_per_s),),
    )


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
