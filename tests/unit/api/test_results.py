"""A stored run as Python sees it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from documents import ENVIRONMENT, cell, example, group, launch

import irbench
from irbench import Run
from irbench.errors import IrbenchError
from irbench.store import Store, default_root


def stored(*, name: str = "", note: str = "", launches: bool = True) -> Run:
    writer = Store(default_root()).begin(ENVIRONMENT, {"name": name, "note": note})
    if launches:
        writer.add_launch(launch())
    writer.commit(replace(writer.document, groups=(example(),), complete=True))
    return Run(writer.document, writer.folder)


def test_rows_are_flat_and_name_their_units():
    run = stored()
    rows = {row.label: row for row in run.rows}
    fastest = rows["openvino"]
    assert fastest.is_winner
    assert not fastest.is_baseline
    assert fastest.p50_ms == example().cells[0].latency_ms.p50  # type: ignore[union-attr]
    assert fastest.speedup is not None
    assert fastest.speedup_low is not None
    assert fastest.speedup_low <= fastest.speedup
    assert (fastest.run_id, fastest.table, fastest.model) == (run.id, 0, run.table.model)


def test_the_winner_is_a_row_with_its_lead_over_the_next():
    winner = stored().winner
    assert winner is not None
    assert (winner.row.label, winner.rival.label) == ("openvino", "ort")
    assert str(winner) == "openvino 1.14x ort [1.12, 1.16]"


def test_a_run_of_several_tables_asks_which_is_meant():
    run = stored()
    two = Run(replace(run.document, groups=(example(), group(cell("ort")))), run.folder)
    with pytest.raises(IrbenchError, match="2 tables") as caught:
        _ = two.winner
    assert caught.value.hint == "Choose one: run.tables[0]"
    assert two.tables[1].winner is None


def test_a_run_shows_itself_as_text_and_as_html():
    run = stored(name="before")
    assert "openvino is fastest" in str(run)
    assert run._repr_html_().startswith("<pre")
    assert "openvino is fastest" in run._repr_html_()
    assert repr(run) == f"<Run {run.id} 'before': resnet50>"
    assert "| openvino |" in run.to_text("md")
    assert run.to_text("json").startswith("{")


def test_a_run_is_loaded_by_its_name_its_id_or_as_the_latest():
    named, latest = stored(name="before", note="without the patch"), stored()
    assert irbench.load("before").id == named.id
    assert irbench.load("before").note == "without the patch"
    assert irbench.load(latest.id[:20]).id == latest.id or latest.id[:20] == named.id[:20]
    assert irbench.load(named.folder).id == named.id
    assert {entry.run_id for entry in irbench.results()} == {named.id, latest.id}
    assert [entry.name for entry in irbench.results() if entry.name] == ["before"]


def test_a_name_of_several_runs_means_the_newest_that_was_measured():
    stored(name="same")
    measured = stored(name="same")
    Store(default_root()).begin(ENVIRONMENT, {"name": "same"})  # interrupted before its first launch
    assert irbench.load("same").id == measured.id


def test_runs_are_removed_packed_and_brought_back(tmp_path: Path):
    run = stored(name="gone", launches=False)
    irbench.export_runs("gone", tmp_path / "run.tar.gz")
    irbench.remove_runs("gone")
    assert irbench.results() == ()
    added, present = irbench.import_runs(tmp_path / "run.tar.gz")
    assert ([folder.name for folder in added], present) == ([run.id], ())
    assert irbench.load("gone").document == run.document


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_a_library_that_is_missing_is_named_with_its_install_command(library: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, library, None)
    convert = {"pandas": stored().to_pandas, "pyarrow": stored().to_arrow}[library]
    with pytest.raises(IrbenchError, match=f"{library} is not installed") as caught:
        convert()
    assert f"pip install {library}" in caught.value.hint


def test_a_data_frame_has_the_same_types_whatever_was_measured():
    pandas = pytest.importorskip("pandas")
    frame = stored().to_pandas()
    assert list(frame["label"]) == [row.label for row in stored().rows]
    assert frame["p50_ms"].dtype == frame["p99_ms"].dtype == "float64"
    assert frame["launches"].dtype == pandas.Int64Dtype()
    assert frame["is_winner"].dtype == bool


def test_a_table_of_arrow_has_the_same_types_whatever_was_measured():
    arrow = pytest.importorskip("pyarrow")
    table = stored().to_arrow()
    assert table.schema.field("p99_ms").type == arrow.float64()
    assert table.schema.field("verdict").type == arrow.string()
    assert table.num_rows == len(stored().rows)
