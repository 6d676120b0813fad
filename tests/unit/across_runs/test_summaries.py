"""Histories are the same from summaries as from documents, and whatever happens to a run is seen."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from across_runs_history import history_of_documents
from compared_runs import EVEN, MACHINE, store, times
from front_door import irbench
from hypothesis import given
from hypothesis import strategies as st

from irbench.across_runs.measured_cells import FIGURES, CellKey
from irbench.across_runs.summaries import VERSION, RowSummary, RunSummary, read_summaries, summary_of
from irbench.core.result import RunDocument
from irbench.features.history.report import ModelHistory, history_of
from irbench.options.conditions import read_condition
from irbench.spec import GraphFiles
from irbench.store import listing
from irbench.store.folders import default_root, run_folders
from irbench.store.listing import Index
from irbench.store.runs import Store

CONDITIONS = [read_condition(text) for text in ("p50>5%", "size>0%", "p99>1%", "max_err>1")]


def from_summaries(root: Path) -> ModelHistory:
    runs, problems = read_summaries(root, [folder for folder, _ in run_folders(root)])
    return history_of("tiny", runs, conditions=CONDITIONS, problems=problems)


def from_documents(root: Path) -> ModelHistory:
    documents = sorted((Store(root).load(root / folder) for folder, _ in run_folders(root)), key=lambda run: run.run_id)
    return history_of_documents("tiny", documents, conditions=CONDITIONS)


def varied_runs(root: Path) -> None:
    """Store runs of rows that become slower with another runtime, another graph and other settings."""
    store(root, {"ort": EVEN}, environment={**MACHINE, "cpus_allowed": 64})
    for number in range(12):
        newer = number > 8
        environment = {**MACHINE, "distributions": {"onnxruntime": "1.23.0" if newer else "1.22.0"}}
        levels = {"ort": times(1.3 if newer else 1 + 0.001 * number), **({"tf": EVEN} if number % 2 else {})}
        plan = {"cpus": [0] if number % 3 else [0, 1], "sources": [f"{'ab'[number > 5]}.onnx"]}
        store(root, levels, environment=environment, plan=plan, graph="ab"[number > 5])
    store(root, {"ort": EVEN}, plan={"is_part_of": "search"})


def not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "irbench.across_runs.summaries.read_document", lambda folder: pytest.fail(f"{folder} is read again")
    )


@pytest.mark.ci
def test_a_history_from_summaries_is_that_of_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    varied_runs(tmp_path)
    expected = from_documents(tmp_path)
    assert any(change.differences for row in expected.rows for figure in row.figures for change in figure.changes)
    assert from_summaries(tmp_path) == expected
    not_read_again(monkeypatch)
    assert from_summaries(tmp_path) == expected


def edited(document: RunDocument, field: str, value: float) -> RunDocument:
    """Return a document in which a figure, a state, the graph or a setting of its only row is another."""
    (table,) = document.groups
    (row, *others) = table.cells
    assert row.latency_ms is not None
    rows = {
        "p50": replace(row, latency_ms=replace(row.latency_ms, p50=value)),
        "fps": replace(row, fps=None),
        "state": replace(row, state="mismatch"),
        "graph": replace(row, graph_files=GraphFiles(f"{value:.0f}", int(value))),
        "streams": replace(row, requested=replace(row.requested, streams=int(value))),
        "model": replace(row, model="other"),
    }
    changed = replace(document, groups=(replace(table, cells=(rows.get(field, row), *others)),))
    return replace(changed, plan=replace(document.plan, cpus=(int(value),))) if field == "cpus" else changed


@given(
    edits=st.lists(
        st.tuples(
            st.integers(0, 9),
            st.sampled_from(("p50", "fps", "state", "graph", "streams", "model", "cpus")),
            st.floats(1, 1000),
        ),
        max_size=6,
    )
)
def test_what_is_written_in_the_index_and_read_back_gives_the_history_of_the_documents(
    tmp_path_factory: pytest.TempPathFactory, documents: list[RunDocument], edits: list[tuple[int, str, float]]
):
    runs = list(documents)
    for number, field, value in edits:
        runs[number] = edited(runs[number], field, value)
    kept = Index(tmp_path_factory.mktemp("index") / "history.sqlite", RunSummary, 1)
    kept.update({run.run_id: ((1, 2), summary_of(run)) for run in runs}, ())
    read = kept.known()
    assert [read[run.run_id][1] for run in runs] == [summary_of(run) for run in runs]
    measured = [row for run in runs for row in summary_of(run).rows if row.figures]
    rows = [row for run in runs for row in run.groups[0].cells if row.state == "ok" and row.latency_ms is not None]
    for name, figure in FIGURES.items():
        assert [row.figure(name) for row in measured] == [figure.of_row(row) for row in rows]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[RunDocument]:
    root = tmp_path_factory.mktemp("documents")
    return [store(root, {"ort": EVEN}, graph="a").document for _ in range(10)]


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def damaged(folder: Path) -> None:
    (folder / "run.json").write_text("{")


def without_a_launch(folder: Path) -> None:
    next(folder.glob("launch-*")).unlink()


def with_another_launch(folder: Path) -> None:
    launch = next(folder.glob("launch-*"))
    launch.write_bytes(launch.read_bytes()[:-1] + b"x")


@pytest.mark.parametrize("harm", [removed, damaged, without_a_launch, with_another_launch])
def test_a_run_that_is_removed_or_damaged_is_seen_by_the_next_history(harm: Callable[[Path], None]):
    root = default_root()
    first, *_ = [store(root, {"ort": EVEN}).folder for _ in range(3)]
    assert len(irbench("history", "tiny", "--format", "json").document["runs"]) == 3
    harm(first)
    for _ in range(2):
        called = irbench("history", "tiny", "--format", "json")
        assert (called.code, len(called.document["runs"])) == (0, 2)
        assert [problem["code"] for problem in called.document["problems"]] == ["unreadable"] * (harm is not removed)


def test_a_figure_that_is_changed_by_hand_is_seen_by_the_next_history():
    root = default_root()
    writer, *_ = [store(root, {"ort": EVEN}) for _ in range(3)]
    assert irbench("history", "tiny").code == 0
    writer.commit(edited(writer.document, "p50", 77.0))
    assert irbench("history", "tiny", "--format", "json").document["rows"][0]["figures"][0]["points"][0]["value"] == 77


@pytest.mark.parametrize(
    "statement",
    [
        "update runs set entry = '{}'",
        'update runs set entry = \'["","","","",false,{},[[1,2]]]\'',
        "drop table runs",
        "pragma user_version = 5",
        "create view more as select 1",
    ],
)
def test_a_damaged_or_hostile_file_of_summaries_changes_nothing(tmp_path: Path, statement: str):
    for _ in range(3):
        store(tmp_path, {"ort": EVEN})
    expected = from_summaries(tmp_path)
    connection = sqlite3.connect(tmp_path / "history.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert from_summaries(tmp_path) == expected
    assert from_summaries(tmp_path) == expected


def test_another_version_of_irbench_keeps_the_lines_of_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folders = [store(tmp_path, {"ort": EVEN}).folder.relative_to(tmp_path).as_posix() for _ in range(3)]
    read: list[int] = []
    read_summaries(tmp_path, folders, read.append)
    monkeypatch.setattr("irbench.__version__", "99.0")
    spec = importlib.util.find_spec("irbench.across_runs.summaries")
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    other.read_summaries(tmp_path, folders, read.append)
    read_summaries(tmp_path, folders, read.append)
    assert read == [3, 0, 0]


def test_the_number_of_the_format_moves_with_what_lines_hold():
    held = (*FIGURES, *RunSummary.__struct_fields__, *RowSummary.__struct_fields__, *CellKey.__match_args__)
    digest = hashlib.blake2b(" ".join(held).encode(), digest_size=4).hexdigest()
    assert (VERSION, digest) == (3, "325e7d74"), "move VERSION, and write both here"


@pytest.mark.parametrize("changed", [{"run_id": "../../evil"}, {"figures": 1e308}, {"figures": -1.0}])
def test_a_line_that_irbench_would_not_write_is_not_believed(tmp_path: Path, changed: dict[str, Any]):
    for _ in range(3):
        store(tmp_path, {"ort": EVEN})
    expected = from_summaries(tmp_path)
    lines = Index(tmp_path / "history.sqlite", RunSummary, VERSION)
    written = {folder: (stamp, _hostile(summary, changed)) for folder, (stamp, summary) in lines.known().items()}
    lines.update(written, ())
    assert from_summaries(tmp_path) == expected


def _hostile(summary: RunSummary, changed: dict[str, Any]) -> RunSummary:
    if "figures" not in changed:
        return msgspec.structs.replace(summary, **changed)
    rows = (
        msgspec.structs.replace(row, figures=tuple(value and changed["figures"] for value in row.figures))
        for row in summary.rows
    )
    return msgspec.structs.replace(summary, rows=tuple(rows))


def test_an_index_that_is_made_anew_forgets_what_histories_kept():
    store(default_root(), {"ort": EVEN})
    assert irbench("history", "tiny").code == 0
    assert (default_root() / "history.sqlite").is_file()
    assert irbench("results", "--rebuild").code == 0
    assert not (default_root() / "history.sqlite").exists()


def test_what_has_no_room_in_the_file_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listing, "MOST_BYTES", 1 << 18)
    kept = Index(tmp_path / "listing.sqlite", str, 1)
    for first in (0, 100, 500):
        kept.update({f"runs/{number}": ((1, 2), 1000 * "x") for number in range(first, first + 400)}, ())
    assert (tmp_path / "listing.sqlite").stat().st_size <= 1 << 18
    assert 100 < len(kept.known()) < 256
    assert "runs/0" in kept.known()
