"""Charts in Python: of a run's table and of other results, found by their names and written to files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compared_runs import EVEN, store, times

from irbench import Run
from irbench.charts.drawing import can_draw
from irbench.errors import IrbenchError

if not can_draw():
    pytest.skip("needs the extra report", allow_module_level=True)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    writer = store(tmp_path, {"ort": EVEN, "tf": times(2)})
    return Run(writer.document, writer.folder)


def test_a_run_has_the_charts_of_a_table_by_their_names(run: Run):
    names = [plot.name for plot in run.plots()]
    assert {"speedups", "latencies", "timeline"} <= set(names)
    assert len(names) == len(set(names))
    assert run.plot().name == names[0]
    assert run.plot("latencies").name == "latencies"


def test_a_notebook_shows_the_first_chart_below_the_table(run: Run, monkeypatch: pytest.MonkeyPatch):
    shown = run._repr_html_()
    assert shown.index("<table") < shown.index("<svg")
    assert shown.count("<svg") == 1
    monkeypatch.setattr("irbench.charts.plots.can_draw", lambda: False)
    assert "<svg" not in run._repr_html_()


def test_an_unknown_chart_is_refused_with_those_that_there_are(run: Run):
    with pytest.raises(IrbenchError) as refused:
        run.plot("latency")
    assert "latencies" in (refused.value.hint or "")


@pytest.mark.parametrize("table", [-1, 1])
def test_a_table_that_the_run_does_not_have_is_refused(table: int, run: Run):
    with pytest.raises(IrbenchError):
        run.plot(table=table)
    with pytest.raises(IrbenchError):
        run.plots(table=table)


def test_a_chart_is_written_in_the_form_that_its_file_is_named_after(run: Run, tmp_path: Path):
    plot = run.plot("speedups")
    for ending, begin in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        plot.save(tmp_path / f"chart.{ending}")
        assert (tmp_path / f"chart.{ending}").read_bytes().startswith(begin)
    plot.save(tmp_path / "chart.json")
    assert "vega-lite" in json.loads((tmp_path / "chart.json").read_bytes())["$schema"]
    with pytest.raises(IrbenchError):
        plot.save(tmp_path / "chart.gif")
