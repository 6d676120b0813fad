"""A stored run as Python sees it."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from cold_and_soak_runs import cold, soak_example
from documents import ENVIRONMENT, cell, disturbed, example, group, launch
from stored_plans import stored_plan

import irbench
from irbench import Run
from irbench.errors import ExitCode, IrbenchError
from irbench.store.folders import default_root
from irbench.store.runs import Store
from irbench.system.installation import install_command


def stored(*, name: str = "", note: str = "", launches: bool = True) -> Run:
    writer = Store(default_root()).begin(ENVIRONMENT, stored_plan(name=name, note=note))
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


@pytest.mark.parametrize(("reported", "shown"), [(4, 4), (2, 2), (None, 2)])
def test_threads_are_those_in_use_beside_those_requested(reported: int | None, shown: int):
    run = stored()
    row = replace(cell("ort", streams=4), effective={"precision": "fp32", "threads": reported})
    (flat,) = Run(replace(run.document, groups=(group(row),)), run.folder).rows
    assert (flat.threads, flat.threads_requested, flat.streams) == (shown, 2, 4)


def test_rows_hold_the_name_and_note_of_their_run_and_the_shapes():
    row = stored(name="before", note="without the patch").rows[0]
    assert (row.run_name, row.run_note, row.shapes) == ("before", "without the patch", "1x224x224x3")
    assert (stored().rows[0].run_name, stored().rows[0].run_note) == ("", "")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_name_and_note_are_columns_of_flat_text(form: Literal["csv", "jsonl"]):
    text = stored(name="before", note="without the patch").to_text(form)
    first = next(csv.DictReader(io.StringIO(text))) if form == "csv" else json.loads(text.splitlines()[0])
    assert (first["run_name"], first["run_note"]) == ("before", "without the patch")


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
    assert caught.value.hint == "Choose one, for example run.tables[0]."
    assert two.tables[1].winner is None


def test_a_run_shows_itself_as_text_and_as_html():
    run = stored(name="before")
    assert "openvino is fastest" in str(run)
    assert "<table" in run._repr_html_()
    assert "openvino is fastest" in run._repr_html_()
    assert repr(run) == f"<Run {run.id} 'before': resnet50>"
    assert "| openvino |" in run.to_text("md")
    assert run.to_text("json").startswith("{")


def test_warnings_are_shown_with_their_remedies_by_what_the_last_line_says():
    run = stored()
    run = Run(replace(run.document, groups=(disturbed(cell("ort")),)), run.folder)
    last = str(run).splitlines()[-1]
    assert last == "Warnings with their remedies: print(run.to_text(warnings=True))"
    assert "Close other programs" not in str(run)
    whole = " ".join(run.to_text(warnings=True).split())
    assert "Close other programs" in whole
    assert "Warnings with their remedies" not in whole


def test_stored_runs_are_entries_that_show_themselves_as_a_table():
    run = stored(name="before", note="without the patch")
    entries = irbench.results()
    assert isinstance(entries, tuple)
    assert [entry.run_id for entry in entries] == [run.id]
    heading, line = str(entries).splitlines()
    assert heading.split()[:2] == ["run", "name"]
    assert line.startswith(f"{run.id}  before")
    assert line.endswith("without the patch")
    assert repr(entries) == str(entries)
    assert "<table" in entries._repr_html_()  # type: ignore[attr-defined] # as Jupyter asks for it


def test_no_stored_runs_are_a_sentence():
    assert str(irbench.results()) == "No stored run fits."


def test_backends_show_themselves_as_a_table_with_a_line_for_each():
    found = irbench.backends()
    assert isinstance(found, tuple)
    lines = str(found).splitlines()
    assert lines[0].split()[:3] == ["backend", "runtime", "version"]
    assert {row.description.name for row in found} <= {line.split()[0] for line in lines[1:] if line.strip()}
    assert "<table" in found._repr_html_()  # type: ignore[attr-defined] # as Jupyter asks for it


def test_a_run_is_loaded_by_its_name_its_id_or_as_the_latest():
    named, unnamed = stored(name="before", note="without the patch"), stored()
    distinguished = next(length for length in range(1, 27) if named.id[:length] != unnamed.id[:length])
    assert irbench.load("before").id == named.id
    assert irbench.load("before").note == "without the patch"
    for run in (named, unnamed):
        assert irbench.load(run.id).id == irbench.load(run.id[:distinguished]).id == run.id
    assert irbench.load().id == irbench.load("latest").id == max(named.id, unnamed.id)
    assert irbench.load(named.folder).id == named.id
    assert {entry.run_id for entry in irbench.results()} == {named.id, unnamed.id}
    assert [entry.name for entry in irbench.results() if entry.name] == ["before"]


def test_an_interrupt_survives_pickling_as_other_processes_need_it():
    run = stored(name="before")
    stop = irbench.Interrupted("what was measured is stored", run)
    stop.add_note("by a notebook")
    found = pickle.loads(pickle.dumps(stop))
    assert isinstance(found, irbench.Interrupted)
    assert (str(found), found.__notes__) == ("what was measured is stored", ["by a notebook"])
    assert isinstance(found.result, Run)
    assert (found.result.document, found.result.folder) == (run.document, run.folder)


def test_a_name_of_several_runs_means_the_newest_that_was_measured():
    stored(name="same")
    measured = stored(name="same")
    Store(default_root()).begin(ENVIRONMENT, stored_plan(name="same"))  # interrupted before its first launch
    assert irbench.load("same").id == measured.id


def test_runs_are_removed_packed_and_brought_back(tmp_path: Path):
    run = stored(name="gone", launches=False)
    irbench.export_runs("gone", tmp_path / "run.tar.gz")
    irbench.remove_runs("gone")
    assert irbench.results() == ()
    added, present = irbench.import_runs(tmp_path / "run.tar.gz")
    assert ([folder.name for folder in added], present) == ([run.id], ())
    assert irbench.load("gone").document == run.document


def test_a_run_that_is_named_and_given_as_a_folder_is_removed_once(tmp_path: Path):
    run = stored(name="gone", launches=False)
    (tmp_path / "link").symlink_to(default_root())
    irbench.remove_runs(["gone", run.folder], results=tmp_path / "link")
    assert irbench.results() == ()


def test_an_import_that_leaves_something_out_brings_in_the_rest_and_raises(tmp_path: Path):
    run = stored(launches=False)
    shutil.copytree(run.folder, tmp_path / "brought" / run.id)
    (tmp_path / "brought" / "link").symlink_to(tmp_path)
    irbench.remove_runs(run.id)
    with pytest.raises(IrbenchError, match="Not everything was imported") as caught:
        irbench.import_runs(tmp_path / "brought")
    assert caught.value.exit_code == ExitCode.FAILED_CELL
    (detail,) = caught.value.details
    assert detail.startswith(f"{tmp_path / 'brought' / 'link'} was left out: it is a symbolic link.")
    assert irbench.load(run.id).document == run.document


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_a_library_that_is_missing_is_named_with_its_install_command(library: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, library, None)
    convert = {"pandas": stored().to_pandas, "pyarrow": stored().to_arrow}[library]
    with pytest.raises(IrbenchError, match=f"{library} is not installed") as caught:
        convert()
    assert caught.value.hint == f"Install it with: {install_command(library)}"


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


def test_columns_of_a_data_frame_can_be_chosen():
    pytest.importorskip("pandas")
    assert list(stored().to_pandas(["label", "fps"]).columns) == ["label", "fps"]
    assert list(stored().table.to_pandas("fps").columns) == ["fps"]
    for wrong in ([], [1], "fps,"):
        with pytest.raises(IrbenchError, match="columns="):
            stored().to_pandas(wrong)


def test_a_run_is_written_to_a_file_whose_name_tells_the_format(tmp_path: Path):
    run = stored()
    run.export(tmp_path / "run.csv", columns=["label", "p50_ms"])
    assert (tmp_path / "run.csv").read_text().splitlines()[:2] == ["label,p50_ms", "openvino,32.5"]
    run.export(tmp_path / "run.json", format="bencher")
    assert len(json.loads((tmp_path / "run.json").read_text())) == 4


@pytest.mark.parametrize(
    ("name", "keywords", "said"),
    [
        ("run.txt", {}, "Unknown file format"),
        ("run.json", {}, "Several formats are .json files"),
        ("run.csv", {"format": "xml"}, "'xml' is not a format"),
        ("run.csv", {"columns": ["p5_ms"]}, "did you mean p50_ms?"),
        ("run.json", {"format": "bencher", "columns": ["label"]}, "does not apply"),
    ],
)
def test_a_wrong_export_is_refused_and_writes_nothing(name: str, keywords: dict[str, Any], said: str, tmp_path: Path):
    with pytest.raises(IrbenchError, match=re.escape(said)):
        stored().export(tmp_path / name, **keywords)
    assert list(tmp_path.iterdir()) == []


def test_several_runs_are_written_to_one_file_and_damaged_ones_are_named(tmp_path: Path):
    runs = sorted((stored(), stored()), key=lambda run: run.id)
    output = tmp_path / "runs.csv"
    assert irbench.export_runs(irbench.results(), output) == tuple(run.folder for run in reversed(runs))
    (runs[1].folder / "run.json").write_text("{")
    with pytest.raises(IrbenchError, match="holds the other runs") as caught:
        irbench.export_runs([run.folder for run in runs], output, columns="run_id")
    assert str(runs[1].folder) in caught.value.message
    assert output.read_text().splitlines() == ["run_id", *[runs[0].id] * 4]


def test_cold_starts_and_soaks_have_rows_in_a_data_frame():
    pytest.importorskip("pandas")
    for document in (cold(), soak_example()):
        run = Run(document, Path("/nowhere"))
        assert run.rows == ()
        assert run.to_pandas(["backend"])["backend"].iloc[0] == "ort"
