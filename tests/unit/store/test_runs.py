"""A run is kept as plain files, and found by any name that means it alone."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from documents import launch
from stored_plans import stored_plan
from stored_runs import measured_model

from irbench.errors import IrbenchError
from irbench.store.folders import new_ulid
from irbench.store.runs import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_a_run_is_found_by_its_name_its_beginning_its_folder_or_as_the_latest(store: Store):
    older, newer = measured_model(store, "alexnet"), measured_model(store, "vgg16")
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
    runs = [measured_model(store).document.run_id for _ in range(2)]
    with pytest.raises(IrbenchError, match="2 runs match '0'") as caught:
        store.find("0")
    assert all(run in caught.value.hint for run in runs)
    with pytest.raises(IrbenchError, match="There is no run 'nope'") as caught:
        store.find("nope")
    assert "irbench results" in caught.value.hint


def test_launches_come_back_in_order_with_their_digests_in_the_document(store: Store):
    writer = measured_model(store, launches=3)
    assert list(writer.document.launches) == [f"launch-00-0{number}.bin" for number in range(3)]
    assert [record.launch for record in store.launches(writer.folder)] == [0, 1, 2]


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
    plain = json.loads((measured_model(store).folder / "run.json").read_text(encoding="utf-8"))
    assert plain["groups"][0]["cells"][0]["latency_ms"]["p50"] == 32.5


def test_a_crash_between_a_launch_and_its_commit_keeps_every_committed_launch(store: Store):
    writer = measured_model(store, launches=2)
    writer.add_launch(launch(2))
    assert len(store.launches(writer.folder)) == 2


_WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from documents import example, launch
from stored_plans import stored_plan
from irbench.store.runs import Store
from irbench.store.entries import Outcome
writer = Store(Path(sys.argv[1])).begin({}, stored_plan())
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
    path = measured_model(store).folder / "launch-00-00.bin"
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-5] if damage == "cut" else data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(IrbenchError, match=r"launch-00-00\.bin") as caught:
        store.launches(path.parent)
    assert caught.value.hint


def test_a_damaged_run_is_a_problem_of_its_own_and_hides_no_other(store: Store):
    damaged, sound = measured_model(store), measured_model(store)
    (damaged.folder / "run.json").write_text("{")
    listing = store.listing()
    assert [entry.run_id for entry in listing.entries] == [sound.document.run_id]
    assert len(listing.problems) == 1
    assert str(damaged.folder) in listing.problems[0]
    with pytest.raises(IrbenchError, match="damaged"):
        store.load(store.find(damaged.document.run_id))


def test_a_folder_that_cannot_be_made_is_an_error_before_anything_is_measured(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IrbenchError, match="cannot be written") as caught:
        Store(tmp_path / "file" / "results").begin({}, stored_plan())
    assert "--results" in caught.value.hint


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("irbench.system.file_access.os.fsync", full)


def test_a_full_disk_is_an_error_before_anything_is_measured(store: Store, monkeypatch: pytest.MonkeyPatch):
    fill_disk(monkeypatch)
    with pytest.raises(IrbenchError, match="No space left on device"):
        store.begin({}, stored_plan())


def test_a_disk_that_fills_up_keeps_what_was_committed(store: Store, monkeypatch: pytest.MonkeyPatch):
    writer = measured_model(store)
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
