"""The chart of loads shows each percentile at each rate, and between which rates the service level is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cold_and_soak_runs import serving_example

from irbench.core.serving_row import LoadLimit, ServingTable
from irbench.errors import IrbenchError
from irbench.features.report.view import page_of_runs
from irbench.pages.values import PageFigures
from irbench.runs.results import Run

pytest.importorskip("altair", reason="needs the extra report")

from irbench.features.serve.charts import figures_of_loads, knees, latencies_by_rate


@pytest.fixture(scope="module")
def table() -> ServingTable:
    (made,) = serving_example().serving
    return made


def test_each_known_percentile_of_each_row_at_each_rate_is_a_mark(table: ServingTable) -> None:
    records = latencies_by_rate(table, 0)
    shown = {(record["row"], record["rate"], record["percentile"]): record["value"] for record in records}
    rows = [row for row in table.rows if row.load is not None and row.load.p50_ms is not None]
    assert {(name, rate) for name, rate, _ in shown} == {("ort", 10), ("ort", 40), ("openvino", 10), ("openvino", 40)}
    for row in rows:
        assert row.load is not None
        assert row.load.p50_ms is not None
        assert shown[row.label, row.load.rate_per_s, "p50"] == row.load.p50_ms.value


def test_a_percentile_among_requests_without_an_answer_has_no_mark(table: ServingTable) -> None:
    cut = tuple(
        row if row.load is None or row.load.rate_per_s != 40 else replace(row, load=replace(row.load, p99_ms=None))
        for row in table.rows
    )
    records = latencies_by_rate(replace(table, rows=cut), 0)
    assert {record["percentile"] for record in records if record["rate"] == 40} == {"p50", "p90"}


def test_the_chart_says_up_to_which_rate_each_row_holds_and_from_which_it_fails(table: ServingTable) -> None:
    known = replace(table, limits=(LoadLimit("ort", 40.0, None), LoadLimit("openvino", 10.0, 40.0)))
    assert [(knee["passes"], knee["fails"]) for knee in knees(known, 0)] == [(40, None), (10, 40)]
    (figure,) = figures_of_loads(known, 0)
    assert "openvino holds 10/s and fails at 40/s" in figure.summary
    marks = [layer["mark"] for layer in figure.chart.to_dict()["layer"]]
    assert sum(mark["type"] == "rule" for mark in marks) == 4  # intervals, the level, and both ends of knees


def test_without_a_service_level_no_knee_is_drawn(table: ServingTable) -> None:
    rows = tuple(row if row.load is None else replace(row, load=replace(row.load, level=None)) for row in table.rows)
    (figure,) = figures_of_loads(replace(table, level=None, limits=(), rows=rows), 0)
    assert sum(layer["mark"]["type"] == "rule" for layer in figure.chart.to_dict()["layer"]) == 1
    assert "holds" not in figure.summary


def test_one_rate_has_no_chart(table: ServingTable) -> None:
    rows = tuple(row for row in table.rows if row.load is not None and row.load.rate_per_s == 10)
    assert list(figures_of_loads(replace(table, rows=rows), 0)) == []


def test_python_and_the_page_have_the_chart_of_a_run_without_speeds(tmp_path: Path) -> None:
    document = serving_example()
    run = Run(document, tmp_path)
    assert [plot.name for plot in run.plots()] == ["load-curve"]
    assert run.plot("load-curve").to_bytes("svg").startswith(b"<svg")
    with pytest.raises(IrbenchError):
        run.plot(table=1)
    (entry,) = page_of_runs([(document, tmp_path)]).entries
    drawn = [part for section in entry.sections for part in section.parts if isinstance(part, PageFigures)]
    assert len(drawn) == 1
