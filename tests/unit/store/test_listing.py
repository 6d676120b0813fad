"""Runs are listed as they are, through lost indexes and careless hands."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from documents import ENVIRONMENT, cell, example, group
from stored_plans import stored_plan
from stored_runs import measured_model

from irbench.core.result import Winner
from irbench.errors import IrbenchError
from irbench.store.entries import Outcome
from irbench.store.listing import resumable_runs
from irbench.store.runs import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_a_run_that_was_killed_before_its_first_launch_is_listed_as_not_measured_and_never_the_latest(store: Store):
    begun = store.begin(ENVIRONMENT, stored_plan())
    (entry,) = store.listing().entries
    assert (entry.run_id, entry.outcomes, entry.complete) == (begun.document.run_id, (Outcome("not-measured"),), False)
    with pytest.raises(IrbenchError, match="No runs are stored"):
        store.find("latest")
    finished = measured_model(store)
    assert store.find("latest") == finished.folder
    assert len(store.listing().entries) == 2


@pytest.mark.parametrize("harm", ["deleted", "garbage", "other tables", "folder", "wrong content"])
def test_a_lost_or_broken_index_changes_nothing(store: Store, harm: str):
    measured_model(store, "alexnet")
    measured_model(store, "vgg16")
    before = store.listing()
    index = store.root / "index.sqlite"
    if harm == "deleted":
        index.unlink()
    elif harm == "garbage":
        index.write_bytes(b"this is no database" * 100)
    elif harm == "folder":
        index.unlink()
        index.mkdir()
    else:
        with sqlite3.connect(index) as connection:
            change = "update runs set entry = '{}'" if harm == "wrong content" else "drop table runs"
            connection.execute(change)
        connection.close()
    assert len(before.entries) == 2
    assert store.listing() == before
    assert store.listing() == before


def test_runs_that_ended_early_are_listed_as_such_but_not_while_they_are_measured(store: Store):
    finished = measured_model(store)
    being_measured = store.begin(ENVIRONMENT, stored_plan(models=["resnet50"]))
    entries = store.listing().entries
    assert {entry.run_id: entry.resumable for entry in entries} == {
        finished.document.run_id: False,
        being_measured.document.run_id: True,
    }
    assert resumable_runs(entries) == ()
    with pytest.raises(IrbenchError, match="still being measured"):
        store.reopen(being_measured.folder, being_measured.document)
    folder = being_measured.folder
    del being_measured  # which lets go of its folder, as a process does that is killed
    assert [Path(entry.folder) for entry in resumable_runs(entries)] == [folder]
    assert store.reopen(folder, store.load(folder)).folder == folder


@pytest.mark.parametrize(
    ("plan", "resumable"),
    [
        ({}, True),
        ({"command": ["irbench", "ab", "model.onnx"]}, True),
        ({"command": ["irbench", "sweep", "plan.toml"]}, False),
        ({"cold": True}, False),
        ({"soak": {"seconds": 60.0}}, False),
        ({"data_in_memory": 3}, False),
        ({"backends": ["ort:cpu", "ort:cpu"]}, False),
        ({"models": []}, False),
    ],
)
def test_only_launches_of_speeds_that_were_asked_for_by_themselves_can_be_continued(
    store: Store, plan: dict[str, object], resumable: bool
):
    writer = store.begin(ENVIRONMENT, stored_plan(**{"models": ["resnet50"], "backends": ["ort:cpu"], **plan}))
    assert writer.document.is_resumable is resumable
    assert not writer.commit(replace(writer.document, complete=True)).is_resumable


def test_an_index_of_an_older_layout_is_made_anew(store: Store):
    measured_model(store)
    before = store.listing()
    connection = sqlite3.connect(store.root / "index.sqlite")
    connection.executescript("drop table runs; create table runs (something text); pragma user_version = 7")
    connection.close()
    assert store.listing() == before


def test_the_index_serves_what_it_knows_without_reading_the_runs(store: Store, monkeypatch: pytest.MonkeyPatch):
    measured_model(store)
    before = store.listing()
    monkeypatch.setattr("irbench.store.runs.load_document", lambda *_: pytest.fail("read again"))
    assert store.listing() == before


def test_runs_that_were_copied_in_changed_or_removed_by_hand_are_seen(store: Store, tmp_path: Path):
    first = measured_model(store, "alexnet")
    assert [entry.models for entry in store.listing().entries] == [("alexnet",)]
    elsewhere = Store(tmp_path / "another machine")
    second = measured_model(elsewhere, "vgg16")
    shutil.copytree(elsewhere.root / "runs", store.root / "runs", dirs_exist_ok=True)
    assert {entry.models for entry in store.listing().entries} == {("alexnet",), ("vgg16",)}
    first.commit(replace(first.document, groups=(replace(example(), model="inception_v3"),)))
    assert {entry.models for entry in store.listing().entries} == {("inception_v3",), ("vgg16",)}
    shutil.rmtree(first.folder)
    assert [entry.run_id for entry in store.listing().entries] == [second.document.run_id]
    moved = store.root.rename(tmp_path / "moved")
    (entry,) = Store(moved).listing().entries
    assert Path(entry.folder).is_dir()


def test_an_entry_says_who_took_part_and_who_won(store: Store):
    rows = (cell("ort", streams=4), cell("openvino", device="gpu"), cell("tf"))
    writer = store.begin({}, stored_plan())
    writer.commit(replace(writer.document, groups=(example(), group(*rows, model="vgg16"))))
    (entry,) = store.listing().entries
    assert entry.models == ("resnet50", "vgg16")
    assert {"ort x4", "openvino:gpu", "tf-xla"} <= set(entry.rows)
    assert set(entry.backends) == {"openvino", "ort", "tf", "tf-xla"}
    first = entry.outcomes[0]
    assert (first.kind, first.leader, first.rival, first.ratio) == ("winner", "openvino", "ort", 1.14)
    assert [outcome.kind for outcome in entry.outcomes] == ["winner", "only"]
    assert not entry.complete


def test_an_entry_tells_two_precisions_of_one_backend_apart(store: Store):
    rows = (cell("openvino", precision="bf16"), cell("openvino"))
    winner = Winner(rows[0].id, rows[1].id, 1.85, 1.8, 1.9)
    writer = store.begin({}, stored_plan())
    writer.commit(replace(writer.document, groups=(group(*rows, winner=winner),)))
    (entry,) = store.listing().entries
    assert entry.rows == ("openvino bf16", "openvino fp32")
    assert [(found.leader, found.rival) for found in entry.outcomes] == [("openvino bf16", "openvino fp32")]


def test_a_run_is_listed_under_the_models_of_all_its_rows(tmp_path: Path):
    rows = tuple(replace(row, model=model) for row, model in zip(example().cells, ("a", "b", "a", "c"), strict=True))
    writer = Store(tmp_path).begin(ENVIRONMENT, stored_plan())
    writer.commit(replace(writer.document, groups=(replace(example(), model="a", cells=rows),), complete=True))
    (entry,) = Store(tmp_path).listing().entries
    assert entry.models == ("a", "b", "c")
