"""What a living process holds is nobody else's; what a dead one held is free."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from irbench.system.locks import hold, hold_name, is_held, temporary_folder, wait_for_name, waiting_for


def test_a_folder_is_held_until_it_is_let_go(tmp_path: Path):
    held = hold(tmp_path)
    with pytest.raises(BlockingIOError):
        hold(tmp_path)
    os.close(held)
    os.close(hold(tmp_path))


def test_abandoned_folders_of_the_prefix_go_and_others_stay(tmp_path: Path):
    for name in (".import-dead", ".removed-dead"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".alive").touch()
    with temporary_folder(tmp_path, ".import-") as folder:
        assert {path.name for path in tmp_path.iterdir()} == {folder.name, ".removed-dead"}


def test_whoever_waits_for_a_lock_goes_on_when_it_is_released(tmp_path: Path):
    path = tmp_path / "lock"
    waited: list[str] = []

    def wait() -> None:
        with waiting_for(path):
            waited.append("second")

    thread = threading.Thread(target=wait)
    with waiting_for(path):
        thread.start()
        thread.join(0.2)
        waited.append("first")
    thread.join()
    assert waited == ["first", "second"]


def test_a_lock_is_no_link_that_somebody_laid_there(tmp_path: Path):
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), waiting_for(tmp_path / "lock"):
        pass


@pytest.fixture(params=["ENOLCK", "ENOTSUP", "EINVAL", "ENOSYS", "EBADF"])
def without_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows no locks, as 9p, some of FUSE, and NFS without its lock server."""
    code: int = getattr(errno, request.param)

    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("without_locks")
def test_without_locks_of_files_processes_of_one_machine_see_each_other_all_the_same(tmp_path: Path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file"):
        held = hold(path)
        assert is_held(path)
        with pytest.raises(BlockingIOError):
            hold(path)
        os.close(held)
        assert not is_held(path)


@pytest.mark.usefixtures("without_locks")
def test_without_locks_temporary_folders_work_and_those_of_other_machines_are_left_alone(tmp_path: Path):
    theirs = tmp_path / ".import-theirs"
    theirs.mkdir()
    (theirs / ".alive").touch()
    with temporary_folder(tmp_path, ".import-") as folder, temporary_folder(tmp_path, ".import-"):
        assert folder.exists()
        assert theirs.exists()
    assert list(tmp_path.iterdir()) == [theirs]


@pytest.mark.usefixtures("without_locks")
def test_without_locks_temporary_folders_go_that_have_been_left_alone_for_long(tmp_path: Path):
    abandoned = tmp_path / ".import-abandoned"
    abandoned.mkdir()
    (abandoned / ".alive").touch()
    os.utime(abandoned / ".alive", (1e9, 1e9))
    with temporary_folder(tmp_path, ".import-"):
        assert not abandoned.exists()


@pytest.mark.usefixtures("without_locks")
def test_without_locks_one_waits_for_the_other(tmp_path: Path):
    waited: list[str] = []

    def wait() -> None:
        with waiting_for(tmp_path / "lock"):
            waited.append("second")

    thread = threading.Thread(target=wait)
    with waiting_for(tmp_path / "lock"):
        thread.start()
        thread.join(0.1)
        waited.append("first")
    thread.join()
    assert waited == ["first", "second"]


@pytest.mark.usefixtures("without_locks")
def test_temporary_folders_work_where_nothing_can_be_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_name: str) -> int:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("irbench.system.locks.hold_name", refuse)
    with temporary_folder(tmp_path, ".import-") as folder:
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_program_with_such_a_name_is_left_alone_however_old(tmp_path: Path):
    mine = tmp_path / ".model.onnx-backup"
    mine.mkdir()
    os.utime(mine, (1e9, 1e9))
    with temporary_folder(tmp_path, ".model.onnx-"):
        assert mine.exists()


HOLDER = """
import sys
from irbench.system.locks import hold_name
hold_name(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def name() -> str:
    return f"a test {uuid.uuid4()}"


def test_a_name_is_held_until_it_is_let_go(name: str):
    held = hold_name(name)
    with pytest.raises(BlockingIOError):
        hold_name(name)
    os.close(hold_name(f"{name}, another"))
    os.close(held)
    os.close(hold_name(name))


def test_a_name_is_free_when_its_holder_was_killed(name: str):
    command = [sys.executable, "-c", HOLDER, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(BlockingIOError):
            hold_name(name)
        holder.kill()
        os.close(wait_for_name(name))


def test_whoever_waits_goes_on_when_the_name_is_released(name: str):
    waited: list[str] = []
    held = hold_name(name)

    def wait() -> None:
        os.close(wait_for_name(name))
        waited.append("second")

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    threads[0].join(0.1)
    waited.append("first")
    os.close(held)
    for thread in threads:
        thread.join()
    assert waited == ["first", "second", "second", "second"]
