"""What lies among runs and is no run: links, pipes and closed folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from stored_runs import measured

from irbench.errors import IrbenchError
from irbench.store.archives import pack
from irbench.store.folders import Unsearched
from irbench.store.moving import Arrivals, import_runs, stage
from irbench.store.runs import Store


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irbench.store.moving.limit_memory", lambda memory_bytes: None)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def brought(there: Path, *sources: Path) -> Arrivals:
    return import_runs(sources, there, stage)


def test_nothing_is_imported_through_a_link(tmp_path: Path, there: Path):
    """What it points to would become part of the store, and be given away with the next export."""
    secret = tmp_path / "secret.log"
    secret.write_text("the key")
    run = measured(tmp_path / "a")
    for name in ("run.json", *run.document.launches):
        path = run.folder / name
        moved = path.rename(tmp_path / name)
        path.symlink_to(moved)
        with pytest.raises(IrbenchError, match="symbolic link"):
            brought(there, tmp_path / "a")
        path.unlink()
        moved.rename(path)
    (run.folder / "logs").symlink_to(tmp_path)
    with pytest.raises(IrbenchError, match="symbolic link"):
        brought(there, tmp_path / "a")
    (run.folder / "logs").unlink()
    (run.logs / "neighbour-1.log").symlink_to(secret)
    with pytest.raises(IrbenchError, match="symbolic link"):
        brought(there, tmp_path / "a")
    assert Store(there).listing().entries == ()


def test_folders_behind_links_are_not_searched(tmp_path: Path, there: Path):
    measured(tmp_path / "elsewhere")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "runs").symlink_to(tmp_path / "elsewhere")
    assert brought(there, tmp_path / "a") == Arrivals((), (), (Unsearched(tmp_path / "a" / "runs", "link"),))


def test_what_is_no_folder_among_runs_is_named_and_the_others_are_imported(tmp_path: Path, there: Path):
    run, month = measured(tmp_path / "a"), tmp_path / "a" / "runs" / "2026-01"
    month.mkdir()
    (month / "link").symlink_to(tmp_path / "a" / "runs")  # to what is searched anyway
    (month / "dangling").symlink_to(tmp_path / "gone")
    (month / "circle").symlink_to(month / "circle")
    (month / "notes.txt").symlink_to(run.folder / "run.json")
    os.mkfifo(month / ".hidden")
    os.mkfifo(month / "pipe")
    found = brought(there, tmp_path / "a")
    assert [path.name for path in found.added] == [run.folder.name]
    assert set(found.unsearched) == {
        Unsearched(month / "pipe", "not-a-file"),
        Unsearched(month / "dangling", "link"),
        Unsearched(month / "circle", "link"),
    }


def test_a_link_to_a_hidden_folder_among_the_runs_is_named(tmp_path: Path, there: Path):
    measured(tmp_path / "a" / ".old")
    (tmp_path / "a" / "old").symlink_to(".old")
    assert brought(there, tmp_path / "a").unsearched == (Unsearched(tmp_path / "a" / "old", "link"),)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_that_may_not_be_entered_is_named(tmp_path: Path, there: Path):
    measured(tmp_path / "a")
    (tmp_path / "a" / "closed").mkdir(mode=0)
    assert brought(there, tmp_path / "a").unsearched == (Unsearched(tmp_path / "a" / "closed", "unreadable"),)


@pytest.mark.parametrize("name", ["run.json", "launch-00-00.bin", "logs/neighbour-1.log", "logs"])
def test_a_pipe_in_a_folder_keeps_nobody_waiting(tmp_path: Path, there: Path, name: str):
    run = measured(tmp_path / "a")
    path = run.folder / name
    path.unlink(missing_ok=True)
    if "/" in name:
        path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(IrbenchError, match=r"not a regular file|Not a directory"):
        brought(there, tmp_path / "a")


def test_a_link_in_a_run_is_not_exported(tmp_path: Path):
    run = measured(tmp_path / "a")
    (tmp_path / "secret").write_text("the key")
    (run.logs / "neighbour-1.log").symlink_to(tmp_path / "secret")
    with pytest.raises(IrbenchError, match="symbolic link"):
        pack([run.folder], tmp_path / "runs.tar.gz")
    assert not (tmp_path / "runs.tar.gz").exists()
