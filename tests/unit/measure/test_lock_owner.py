"""Who holds the lock, whatever stands in its file."""

from __future__ import annotations

import getpass
import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.measure.lock import lock_owner, measuring, owner_text


@pytest.fixture
def found(tmp_path: Path) -> os.stat_result:
    path = tmp_path / "lock"
    path.touch()
    return path.stat()


def line_of(found: os.stat_result, process: int, waits: str = "") -> str:
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return f"1:{waits} FLOCK  ADVISORY  WRITE {process} {place} 0 EOF"


def test_the_holder_is_found_among_those_who_wait_and_other_files(found: os.stat_result) -> None:
    other = f"2: FLOCK  ADVISORY  WRITE 7 00:01:{found.st_ino + 1} 0 EOF"
    assert lock_owner(found, [other, line_of(found, 8, " ->"), line_of(found, 4711)]) == 4711


@pytest.mark.parametrize("lines", [[], ["nonsense"], ["1: FLOCK ADVISORY WRITE x 1:2:3 0 EOF"]])
def test_what_the_kernel_does_not_tell_is_unknown(found: os.stat_result, lines: list[str]) -> None:
    assert lock_owner(found, lines) is None


def test_a_holder_outside_of_the_container_is_unknown(found: os.stat_result) -> None:
    assert lock_owner(found, [line_of(found, 0)]) is None


def test_a_process_is_told_with_its_user() -> None:
    assert owner_text(os.getpid()) == f"Process {os.getpid()} of user {getpass.getuser()}"
    assert owner_text(2**30) == f"Process {2**30}"


def test_who_is_refused_is_told_the_lock_and_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr("irbench.measure.lock.lock_owner", lambda _found: os.getpid())
    with measuring("a"), pytest.raises(IrbenchError) as caught, measuring("b"):
        pass
    owner = f"Process {os.getpid()} of user {getpass.getuser()} holds {tmp_path}/lock."
    assert caught.value.hint.endswith(f"{owner} To use another lock file, set IRBENCH_LOCK.")


def test_nothing_is_said_of_a_file_that_nobody_holds_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "lock"
    monkeypatch.setenv("IRBENCH_LOCK", str(lock))
    with measuring("a"):
        lock.unlink()
        with pytest.raises(IrbenchError) as caught, measuring("b"):
            pass
    assert str(lock) not in caught.value.hint
    assert caught.value.hint.endswith("To use another lock file, set IRBENCH_LOCK.")
