"""Runs that are removed are gone once, and those that are measured stay."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from documents import ENVIRONMENT
from stored_runs import measured

from irbench.errors import IrbenchError
from irbench.store.moving import Arrivals, import_runs, remove_runs, stage
from irbench.store.runs import Store
from irbench.system.locks import hold, waiting_for


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irbench.store.moving.limit_memory", lambda memory_bytes: None)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def brought(there: Path, *sources: Path) -> Arrivals:
    return import_runs(sources, there, stage)


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


def test_of_two_removals_at_once_one_removes_each_run_and_the_other_finds_it_gone(there: Path):
    """The second waits for the first, whose locks are not those of a measurement."""
    first, second = measured(there), measured(there)
    folders, found = [first.folder, second.folder], []
    with waiting_for(there), closing_descriptor(hold(first.folder)):
        other = threading.Thread(target=lambda: found.extend(remove_runs(folders, there)))
        other.start()
        first.folder.rename(there / ".gone")
        assert found == []
    other.join()
    assert found == [second.folder]
    assert list(remove_runs(folders, there)) == []


def test_removals_before_one_that_fails_are_told(there: Path, monkeypatch: pytest.MonkeyPatch):
    first, second = measured(there), measured(there)
    rename = Path.rename

    def refuse_second(self: Path, target: Path) -> Path:
        if self == second.folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_second)
    removing = remove_runs([first.folder, second.folder], there)
    assert next(removing) == first.folder
    with pytest.raises(IrbenchError, match="Permission denied"):
        next(removing)
    assert (first.folder.exists(), second.folder.exists()) == (False, True)


def test_a_run_that_is_stored_twice_can_be_removed_in_both_places_at_once(there: Path):
    run = measured(there)
    twin = there / "runs" / "2001-01" / run.folder.name
    shutil.copytree(run.folder, twin)
    assert list(remove_runs([run.folder, twin], there)) == [run.folder, twin]


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)
