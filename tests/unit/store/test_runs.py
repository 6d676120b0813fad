"""What was measured is kept: through crashes, full disks, lost indexes and careless hands."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from documents import ENVIRONMENT, cell, example, group, launch

from irbench.errors import IrbenchError
from irbench.result import Winner
from irbench.store import RunWriter, Store, default_root
from irbench.store.entries import Outcome
from irbench.store.listing import resumable_runs
from irbench.store.ulid import new_ulid


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def measured(store: Store, model: str = "resnet50", launches: int = 1) -> RunWriter:
    """Store a finished run."""
    writer = store.begin(ENVIRONMENT, {"models": [model]})
    for number in range(launches):
        writer.add_launch(launch(number))
    writer.commit(replace(writer.document, groups=(replace(example(), model=model),), complete=True))
    return writer


def test_a_run_is_found_by_its_name_its_beginning_its_folder_or_as_the_latest(store: Store):
    older, newer = measured(store, "alexnet"), measured(store, "vgg16")
    if older.document.run_id > newer.document.run_id:  # of the same millisecond
        older, newer = newer, older
    run_id = older.document.run_id
    for name in (run_id, run_id[:-1], run_id.lower(), str(older.folder), str(older.folder / "run.json")):
        assert store.find(name) == older.folder
    assert store.find(None) == store.find("latest") == newer.folder
    assert store.load(older.folder) == older.document
    assert older.folder.parent.parent == store.root / "runs"


def test_a_name_that_fits_no_run_or_several_is_an_error_with_a_way_out(store: Store):
    with pytest.raises(IrbenchError, match="No runs are stored") as caught:
        store.find("latest")
    assert "irbench run" in caught.value.hint
    runs = [measured(store).document.run_id for _ in range(2)]
    with pytest.raises(IrbenchError, match="2 runs match '0'") as caught:
        store.find("0")
    assert all(run in caught.value.hint for run in runs)
    with pytest.raises(IrbenchError, match="There is no run 'nope'") as caught:
        store.find("nope")
    assert "irbench results" in caught.value.hint


def test_launches_come_back_in_order_with_their_digests_in_the_document(store: Store):
    writer = measured(store, launches=3)
    assert list(writer.document.launches) == [f"launch-00-0{number}.bin" for number in range(3)]
    assert [record.launch for record in store.launches(writer.folder)] == [0, 1, 2]


def test_a_crash_between_a_launch_and_its_commit_keeps_every_committed_launch(store: Store):
    writer = measured(store, launches=2)
    writer.add_launch(launch(2))
    assert len(store.launches(writer.folder)) == 2


def test_a_run_that_was_killed_before_its_first_launch_is_listed_as_not_measured_and_never_the_latest(store: Store):
    begun = store.begin(ENVIRONMENT, {})
    (entry,) = store.listing().entries
    assert (entry.run_id, entry.outcomes, entry.complete) == (begun.document.run_id, (Outcome("not-measured"),), False)
    with pytest.raises(IrbenchError, match="No runs are stored"):
        store.find("latest")
    finished = measured(store)
    assert store.find("latest") == finished.folder
    assert len(store.listing().entries) == 2


_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from documents import example, launch
from irbench.store import Store
from irbench.store.entries import Outcome
writer = Store(Path(sys.argv[1])).begin({}, {})
for number in range(100):
    writer.add_launch(launch(number))
    writer.commit(replace(writer.document, groups=(example(),)))
    print(number, writer.folder, flush=True)
"""


@pytest.mark.parametrize("kept", [1, 4])
def test_a_kill_at_any_moment_keeps_every_acknowledged_launch(store: Store, kept: int):
    child = subprocess.Popen([sys.executable, "-c", _WRITER, str(store.root)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child:
        acknowledged = [child.stdout.readline().split() for _ in range(kept)]
        os.kill(child.pid, signal.SIGKILL)
    (entry,) = store.listing().entries
    assert entry.folder == acknowledged[-1][1]
    numbers = [record.launch for record in store.launches(Path(entry.folder))]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= kept


@pytest.mark.parametrize("damage", ["cut", "altered", "gone"])
def test_a_damaged_launch_is_one_clear_error_that_names_the_file(store: Store, damage: str):
    path = measured(store).folder / "launch-00-00.bin"
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-5] if damage == "cut" else data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(IrbenchError, match=r"launch-00-00\.bin") as caught:
        store.launches(path.parent)
    assert caught.value.hint


def test_a_damaged_run_is_a_problem_of_its_own_and_hides_no_other(store: Store):
    damaged, sound = measured(store), measured(store)
    (damaged.folder / "run.json").write_text("{")
    listing = store.listing()
    assert [entry.run_id for entry in listing.entries] == [sound.document.run_id]
    assert len(listing.problems) == 1
    assert str(damaged.folder) in listing.problems[0]
    with pytest.raises(IrbenchError, match="damaged"):
        store.load(store.find(damaged.document.run_id))


@pytest.mark.parametrize("harm", ["deleted", "garbage", "other tables", "folder", "wrong content"])
def test_a_lost_or_broken_index_changes_nothing(store: Store, harm: str):
    measured(store, "alexnet")
    measured(store, "vgg16")
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
    finished = measured(store)
    being_measured = store.begin(ENVIRONMENT, {"models": ["resnet50"]})
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
        ({"backends": [["ort"]], "command": 7}, True),
        ({"models": []}, False),
    ],
)
def test_only_launches_of_speeds_that_were_asked_for_by_themselves_can_be_continued(
    store: Store, plan: dict[str, object], resumable: bool
):
    writer = store.begin(ENVIRONMENT, {"models": ["resnet50"], "backends": ["ort:cpu"], **plan})
    assert writer.document.is_resumable is resumable
    assert not writer.commit(replace(writer.document, complete=True)).is_resumable


def test_an_index_of_an_older_layout_is_made_anew(store: Store):
    measured(store)
    before = store.listing()
    connection = sqlite3.connect(store.root / "index.sqlite")
    connection.executescript("drop table runs; create table runs (something text); pragma user_version = 7")
    connection.close()
    assert store.listing() == before


def test_the_index_serves_what_it_knows_without_reading_the_runs(store: Store, monkeypatch: pytest.MonkeyPatch):
    measured(store)
    before = store.listing()
    monkeypatch.setattr("irbench.store.reading.load_document", lambda *_: pytest.fail("read again"))
    assert store.listing() == before


def test_runs_that_were_copied_in_changed_or_removed_by_hand_are_seen(store: Store, tmp_path: Path):
    first = measured(store, "alexnet")
    assert [entry.models for entry in store.listing().entries] == [("alexnet",)]
    elsewhere = Store(tmp_path / "another machine")
    second = measured(elsewhere, "vgg16")
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
    writer = store.begin({}, {})
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
    writer = store.begin({}, {})
    writer.commit(replace(writer.document, groups=(group(*rows, winner=winner),)))
    (entry,) = store.listing().entries
    assert entry.rows == ("openvino bf16", "openvino fp32")
    assert [(found.leader, found.rival) for found in entry.outcomes] == [("openvino bf16", "openvino fp32")]


def test_a_folder_that_cannot_be_made_is_an_error_before_anything_is_measured(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        Store(tmp_path / "file" / "results").begin({}, {})
    assert "--results" in caught.value.hint


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("irbench.system.files.os.fsync", full)


def test_a_full_disk_is_an_error_before_anything_is_measured(store: Store, monkeypatch: pytest.MonkeyPatch):
    fill_disk(monkeypatch)
    with pytest.raises(IrbenchError, match="No space left on device"):
        store.begin({}, {})


def test_a_disk_that_fills_up_keeps_what_was_committed(store: Store, monkeypatch: pytest.MonkeyPatch):
    writer = measured(store)
    before = writer.document
    with monkeypatch.context() as patch:
        fill_disk(patch)
        with pytest.raises(IrbenchError, match="No space left on device") as caught:
            writer.add_launch(launch(1))
        assert "Free some space" in caught.value.hint
        with pytest.raises(IrbenchError, match="No space left on device"):
            writer.commit(replace(before, groups=()))
    assert store.load(writer.folder) == before == writer.document
    assert sorted(path.name for path in writer.folder.iterdir()) == ["launch-00-00.bin", "run.json"]


def test_results_go_where_the_user_says_then_here_then_to_the_users_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path / "named"))
    assert default_root() == tmp_path / "named"
    monkeypatch.delenv("IRBENCH_RESULTS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_root() == tmp_path / "data" / "irbench" / "results"
    (tmp_path / "results").mkdir()
    assert default_root() == tmp_path / "results"


def test_names_of_runs_sort_by_time_and_are_ulids():
    from datetime import UTC, datetime

    # 1469918176385 and 01ARYZ6S41 are the example of github.com/ulid/spec
    early = new_ulid(datetime.fromtimestamp(1469918176.385, UTC))
    late = new_ulid(datetime.fromtimestamp(1469918176.386, UTC))
    assert early.startswith("01ARYZ6S41")
    assert len(early) == len(late) == 26
    assert early < late
    assert new_ulid(datetime.fromtimestamp(0, UTC)) != new_ulid(datetime.fromtimestamp(0, UTC))


def test_a_document_in_the_store_is_plain_json_that_any_tool_reads(store: Store):
    plain = json.loads((measured(store).folder / "run.json").read_text(encoding="utf-8"))
    assert plain["groups"][0]["cells"][0]["latency_ms"]["p50"] == 32.5


def test_a_run_is_listed_under_the_models_of_all_its_rows(tmp_path: Path):
    rows = tuple(replace(row, model=model) for row, model in zip(example().cells, ("a", "b", "a", "c"), strict=True))
    writer = Store(tmp_path).begin(ENVIRONMENT, {})
    writer.commit(replace(writer.document, groups=(replace(example(), model="a", cells=rows),), complete=True))
    (entry,) = Store(tmp_path).listing().entries
    assert entry.models == ("a", "b", "c")
