"""What is said of loads beside their figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cold_and_soak_runs import served_cell, serving_example

from irbench.core.record import LaunchRecord
from irbench.core.serving_row import ServingTable
from irbench.features.serve.view import serving_views
from irbench.notices.warnings import Unverified
from irbench.render.text_formats import json_text
from irbench.runs.run_view import DocumentView
from irbench.stats.notice_rules.serving_warnings import serving_warnings
from irbench.stats.run_modes.serving import derive_serving_table


def with_lags(*lags_ms: float, wait_ms: float | None = 0.0, batch: int = 1, **figures: None) -> ServingTable:
    """Return a table whose first loads have these lags; their p99 is 11 ms and their p50 7.75 ms."""
    (table,) = serving_example().serving
    known = ((row.load, lag_ms) for row, lag_ms in zip(table.rows, lags_ms, strict=False))
    loads = [replace(load, start_lag_p99_ms=lag_ms, **figures) for load, lag_ms in known if load is not None]
    late = [replace(row, load=load) for row, load in zip(table.rows, loads, strict=False)]
    rows = tuple(replace(row, batch=batch) for row in (*late, *table.rows[len(late) :]))
    return replace(table, rows=rows, batch_wait_ms=wait_ms, warnings=tuple(serving_warnings(rows, wait_ms)))


def warnings(table: ServingTable) -> tuple[str, ...]:
    (view,) = serving_views(table, serving_example())
    return view.warnings


def test_a_lag_that_matters_is_told_where_a_narrow_table_hides_its_column() -> None:
    found = replace(serving_example(), serving=(with_lags(5.0),))
    text = "\n".join(line.plain for line in DocumentView(found).as_lines(80))
    assert "lag p99" not in text.partition("hidden")[0]
    assert "lag p99 of ort at 10/s is 5.00 ms" in " ".join(text.split())


def test_the_largest_lag_is_told_with_the_number_of_such_loads() -> None:
    (said,) = warnings(with_lags(2.0, 5.0))
    assert "ort at 40/s is 5.00 ms" in said
    assert "beside a p99 of 11.0 ms." in said
    assert "one of 2 such loads" in said


@pytest.mark.parametrize(("lag_ms", "is_told"), [(0.05, False), (1.0, False), (1.2, True)])
def test_a_lag_below_a_tenth_of_the_slowest_latency_is_not_told(lag_ms: float, is_told: bool) -> None:
    assert bool(warnings(with_lags(lag_ms))) is is_told


def test_the_wait_for_a_full_batch_is_no_lag_and_where_it_is_not_known_nothing_is_said() -> None:
    assert warnings(with_lags(5.0, wait_ms=4.5, batch=8)) == ()
    (said,) = warnings(with_lags(6.0, wait_ms=4.5, batch=8))
    assert "Up to 4.5 ms of it may be for --batch-wait." in said
    assert warnings(with_lags(6.0, wait_ms=None)) == ()


def test_a_call_of_one_request_waits_for_no_batch_so_all_of_its_lag_counts() -> None:
    (said,) = warnings(with_lags(5.0, wait_ms=10.0))
    assert "is 5.00 ms" in said
    assert "--batch-wait" not in said


def test_with_too_few_requests_for_p99_the_next_percentile_is_what_a_lag_is_held_against() -> None:
    (said,) = warnings(with_lags(5.0, p99_ms=None))
    assert "beside a p90 of" in said
    assert warnings(with_lags(5.0, p99_ms=None, p90_ms=None)) == ()


def test_the_lag_is_a_warning_with_a_code_and_facts_which_derives_once() -> None:
    cell = served_cell("ort", 5)
    late_ns = 5_000_000
    served = [replace(load, start_ns=load.start_ns + late_ns, end_ns=load.end_ns + late_ns) for load in cell.served]
    records = [LaunchRecord(0, 0, (replace(cell, served=tuple(served)),), {}, ())]
    (table,) = serving_example().serving
    unverified = Unverified(model="net", refusals=())
    derived = derive_serving_table(replace(table, batch_wait_ms=0.0, warnings=(unverified,)), records)
    kept, late = derive_serving_table(derived, records).warnings
    assert (kept.code, late.code) == ("unverified", "late-calls")
    facts = json.loads(json_text(late))["facts"]
    assert (facts["cell"], facts["loads"], facts["percentile"]) == ("ort", 2, 99)
    assert facts["lag_ms"] == pytest.approx(5)


def test_outputs_of_a_row_that_was_wrong_are_not_among_those_that_were_verified() -> None:
    (table,) = serving_example().serving
    wrong = replace(table, rows=tuple(replace(row, state="mismatch") if row.id == "tf" else row for row in table.rows))
    served = serving_example()
    (view,) = serving_views(table, served)
    assert "outputs verified against" in "\n".join(view.notes)
    (view,) = serving_views(wrong, served)
    assert "outputs of the other rows verified against" in "\n".join(view.notes)
    (view,) = serving_views(replace(table, rows=tuple(replace(row, state="mismatch") for row in table.rows)), served)
    assert "verified against" not in "\n".join(view.notes)
