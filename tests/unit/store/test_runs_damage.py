"""What was measured is kept through crashes and full disks, and what was damaged is named."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from documents import launch
from stored_runs import measured_model

from irbench.errors import IrbenchError
from irbench.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_a_crash_between_a_launch_and_its_commit_keeps_every_committed_launch(store: Store):
    writer = measured_model(store, launches=2)
    writer.add_launch(launch(2))
    assert len(store.launches(writer.folder)) == 2


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
        Store(tmp_path / "file" / "results").begin({}, {})
    assert "--results" in caught.value.hint


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("irbench.system.file_access.os.fsync", full)


def test_a_full_disk_is_an_error_before_anything_is_measured(store: Store, monkeypatch: pytest.MonkeyPatch):
    fill_disk(monkeypatch)
    with pytest.raises(IrbenchError, match="No space left on device"):
        store.begin({}, {})


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
