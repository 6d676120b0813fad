"""The best row over the tables of a sweep: only of those that measured the same model with the same inputs."""

from __future__ import annotations

from typing import Any

import pytest

from irbench.features.plan.expansion import SweepCell, SweepTable
from irbench.features.sweep.report import TableOverview, TableStatus, best_of_sweep
from irbench.store.entries import Outcome, OutcomeKind, RunEntry


def shown(
    p50_ms: float,
    fps: float,
    kind: OutcomeKind = "undecided",
    status: TableStatus = "done",
    **settings: Any,
) -> TableOverview:
    cells = tuple(SweepCell({"models": "net", "backends": backend, **settings}) for backend in ("ort", "openvino"))
    outcome = Outcome(kind, "openvino", "ort", 1.1, p50_ms=p50_ms, fps=fps)
    entry = RunEntry("01K", "", "", ("net",), (), (), (outcome,), True, 4, True)
    return TableOverview(SweepTable(cells, ("backends",)), status, "01K", entry)


def test_tables_that_differ_in_threads_are_compared_by_what_their_rows_were():
    (found,) = best_of_sweep([shown(30.0, 33.0, threads=1), shown(20.0, 30.0, threads=2)])
    assert (found.objective, found.best.table, found.second.table) == ("latency", "threads=2", "threads=1")


def test_tables_that_differ_in_batch_are_compared_by_throughput():
    (found,) = best_of_sweep([shown(30.0, 33.0, batch=1, threads=2), shown(160.0, 50.0, batch=8, threads=2)])
    assert (found.objective, found.best.table) == ("fps", "batch=8")


@pytest.mark.parametrize(
    "settings",
    [{"precision": "bf16"}, {"optimize": "basic"}, {"data": "speech/"}, {"shape": {"length": 64}}, {"models": "other"}],
    ids=str,
)
def test_tables_of_other_models_inputs_or_precisions_are_not_compared(settings: dict[str, Any]):
    assert not best_of_sweep([shown(30.0, 33.0, threads=1), shown(20.0, 50.0, threads=2, **settings)])


def test_tables_without_a_leader_take_no_part():
    tables = [
        shown(30.0, 33.0, threads=1),
        shown(20.0, 50.0, threads=2),
        shown(1.0, 999.0, kind="mismatch", threads=3),
        shown(1.0, 999.0, status="interrupted", threads=4),
    ]
    (found,) = best_of_sweep(tables)
    assert (found.tables, found.best.table) == (2, "threads=2")
    assert not best_of_sweep(tables[:1])


def test_rows_in_the_runtimes_own_precision_are_not_compared_over_tables():
    assert not best_of_sweep(
        [shown(3.0, 3.0, threads=1, precision="native"), shown(2.0, 5.0, threads=2, precision="native")]
    )
