"""Runs arrive all or none, fit together, and stay while they are measured."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ENVIRONMENT, cell_launch, example, launch
from stored_runs import measured

from irbench.errors import IrbenchError
from irbench.record import LaunchRecord
from irbench.render.samples import samples_of
from irbench.store import RunWriter, Store, decode_launch, encode_launch
from irbench.store.import_staging import stage
from irbench.store.moving import Arrivals, import_runs, remove_runs

ROWS = tuple(row.id for row in example().cells[:2])


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irbench.store.import_staging.limit_memory", lambda memory_bytes: None)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def brought(there: Path, *sources: Path) -> Arrivals:
    return import_runs(sources, there, stage)


def change(run: RunWriter, **facts: Any) -> None:
    path = run.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def with_launch(root: Path, record: LaunchRecord) -> RunWriter:
    run = Store(root).begin(ENVIRONMENT, {})
    run.add_launch(record)
    run.commit(replace(run.document, groups=(example(),), complete=True))
    return run


def test_logs_come_along(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    (run.logs / "ort.log").write_text("SIGSEGV")
    (added,) = brought(there, tmp_path / "a").added
    assert (added / "logs" / "ort.log").read_text() == "SIGSEGV"


def test_two_sources_of_one_run_must_agree(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    (tmp_path / "b").mkdir()
    other = tmp_path / "b" / run.folder.name
    other.mkdir()
    for path in run.folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert len(brought(there / "same", tmp_path / "a", tmp_path / "b").added) == 1
    change(run, irbench_version="9")
    with pytest.raises(IrbenchError, match="different content"):
        brought(there, tmp_path / "a", tmp_path / "b")
    assert Store(there).listing().entries == ()


@pytest.mark.parametrize("created", ["2001-01-01T00:00:00+00:00", "2026-11-21T07:30:00+02:00"])
def test_a_run_must_be_of_the_moment_that_its_name_says(tmp_path: Path, there: Path, created: str):
    change(measured(tmp_path / "a"), created=created)
    with pytest.raises(IrbenchError, match=r"was not made at|not in UTC"):
        brought(there, tmp_path / "a")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (launch(group_number=1, cells=ROWS), "no table 1"),
        (launch(cells=("stranger",)), "no row 'stranger'"),
        (
            replace(
                launch(cells=ROWS),
                cells=(
                    replace(
                        cell_launch(ROWS[0], 1),
                        rounds=(replace(cell_launch("x", 1).rounds[0], issue_ns=np.zeros(3, np.int64)),),
                    ),
                ),
            ),
            "lacks times",
        ),
    ],
    ids=["table", "row", "series"],
)
def test_a_launch_that_contradicts_its_run_is_refused_and_printed_as_an_error(
    tmp_path: Path, there: Path, record: LaunchRecord, said: str
):
    run = with_launch(tmp_path / "a", record)
    with pytest.raises(IrbenchError, match=said):
        brought(there, tmp_path / "a")
    if "row" not in said:  # an unknown row is printed by its id
        with pytest.raises(IrbenchError, match="do not match"):
            list(samples_of(run.document, [record]))


def test_a_bad_timing_is_refused_and_printed_as_an_error(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    change(run, plan={"timing": {"min_blocks": "four"}})
    with pytest.raises(IrbenchError, match="min_blocks"):
        brought(there, tmp_path / "a")
    with pytest.raises(IrbenchError, match="nothing of how it was measured"):
        list(samples_of(Store(tmp_path / "a").load(run.folder), []))


def test_nothing_is_imported_where_one_run_cannot_be_put_in_place(
    tmp_path: Path, there: Path, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(2):
        measured(tmp_path / "a")
    rename, done = Path.rename, []

    def once(self: Path, target: Path) -> Path:
        if target.parent.parent.name == "runs":
            done.append(target)
            if len(done) == 2:
                raise PermissionError(13, os.strerror(13))
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", once)
        with pytest.raises(IrbenchError, match="Permission denied") as caught:
            brought(there, tmp_path / "a")
    assert "permissions" in caught.value.hint
    assert Store(there).listing().entries == ()
    assert not list(there.glob(".import-*"))


def test_what_killed_imports_and_removals_left_is_cleared(tmp_path: Path, there: Path):
    for name in (".import-dead", ".removed-dead"):
        (there / name).mkdir(parents=True)
        (there / name / ".alive").touch()
    (added,) = brought(there, measured(tmp_path / "a").folder).added
    assert list(remove_runs([added], there)) == [added]
    assert [path.name for path in there.iterdir()] == ["runs"]


def test_a_run_that_is_being_measured_is_not_removed(there: Path):
    finished, running = measured(there), Store(there).begin(ENVIRONMENT, {})
    with pytest.raises(IrbenchError, match="still being measured"):
        list(remove_runs([finished.folder, running.folder], there))
    assert finished.folder.is_dir()
    folder = running.folder
    del running
    assert list(remove_runs([folder], there)) == [folder]


def test_an_exact_name_is_preferred_and_one_that_is_stored_twice_can_be_named_by_its_folder(there: Path):
    run = measured(there)
    longer = run.folder.with_name(run.folder.name + "X")
    longer.mkdir()
    (longer / "run.json").write_bytes((run.folder / "run.json").read_bytes())
    assert Store(there).find(run.folder.name) == run.folder
    twin = there / "runs" / "2001-01" / run.folder.name
    twin.parent.mkdir()
    longer.rename(twin)
    with pytest.raises(IrbenchError, match="stored 2 times") as caught:
        Store(there).find(run.folder.name)
    assert str(twin) in caught.value.hint
    assert Store(there).find(str(twin)) == twin


def test_a_run_is_found_from_inside_its_folder(there: Path, monkeypatch: pytest.MonkeyPatch):
    run = measured(there)
    monkeypatch.chdir(run.folder)
    assert Store(there).find(".") == run.folder


def test_many_series_may_not_take_more_than_one_launch_can(monkeypatch: pytest.MonkeyPatch):
    data = encode_launch(launch())
    decode_launch(data, "x.bin")
    monkeypatch.setattr("irbench.store.launches._LARGEST_BYTES", 200)  # of which each series takes 40
    with pytest.raises(IrbenchError, match="longer than any"):
        decode_launch(data, "x.bin")


def test_the_digest_of_a_changed_launch_is_compared_before_it_is_unpacked(tmp_path: Path, there: Path):
    run = measured(tmp_path / "a")
    (run.folder / "launch-00-00.bin").write_bytes(b"IRBENCH1")
    assert run.document.launches["launch-00-00.bin"] != hashlib.sha256(b"IRBENCH1").hexdigest()
    with pytest.raises(IrbenchError, match="damaged"):
        brought(there, tmp_path / "a")


def test_rebuilding_the_index_leaves_other_files_alone(there: Path):
    measured(there)
    (there / "index.sqlite.bak").write_text("mine")
    from irbench.store.listing import list_runs

    assert len(list_runs(there, anew=True).entries) == 1
    assert (there / "index.sqlite.bak").read_text() == "mine"
