"""A file is replaced whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from pathlib import Path

import pytest

from irbench.system import file_access
from irbench.system.file_access import (
    move_folder,
    open_regular,
    read_regular,
    replace_folder,
    replacing,
    write_atomically,
)


def test_the_folder_is_on_the_disk_before_a_write_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[str] = []
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", watched)
    write_atomically(tmp_path / "card.json", b"new")
    assert synced[-1] == str(tmp_path)
    assert (tmp_path / "card.json").read_bytes() == b"new"


def test_a_full_disk_keeps_the_old_content_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "card.json").write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(tmp_path / "card.json", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("card.json", b"old")]


def test_a_file_that_is_given_up_leaves_the_old_content_and_nothing_else(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with contextlib.suppress(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_moved_over_one_that_holds_files(tmp_path: Path):
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    with pytest.raises(OSError, match="not empty"):
        move_folder(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old" / "name").read_text() == "old"


@pytest.fixture(params=["in one step", "in two steps"])
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """A new folder and an old one, on a system that can exchange them or not."""
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    if request.param == "in two steps":
        monkeypatch.setattr(file_access, "exchange", lambda _one, _other: False)
    return new, old


def test_a_folder_takes_the_place_of_another(folders: tuple[Path, Path]):
    new, place = folders
    replace_folder(new, place)
    assert (place / "name").read_text() == "new"
    assert [path.name for path in place.parent.iterdir()] == ["old"]


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_takes_the_place_of_nothing(folders: tuple[Path, Path], there: bool):
    new, old = folders
    if there:
        (old.parent / "empty").mkdir()
    replace_folder(new, old.parent / "empty")
    assert (old.parent / "empty" / "name").read_text() == "new"
    assert sorted(path.name for path in old.parent.iterdir()) == ["empty", "old"]


def test_the_old_folder_is_put_back_where_the_new_one_cannot_be_moved(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    new, place = folders
    rename = Path.rename

    def fails_on_the_new(self: Path, target: Path) -> Path:
        if self == new:
            raise OSError(errno.EXDEV if not (place / "name").exists() else errno.ENOTEMPTY, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_on_the_new)
    monkeypatch.setattr(file_access, "exchange", lambda _one, _other: False)
    with pytest.raises(OSError, match="no"):
        replace_folder(new, place)
    assert (place / "name").read_text() == "old"
    assert sorted(path.name for path in place.parent.iterdir()) == ["new", "old"]


def test_a_place_is_never_without_a_folder_where_two_can_be_exchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    new, place = tmp_path / "new", tmp_path / "old"
    for folder in (new, place):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    if not file_access.exchange(new, place) or not file_access.exchange(new, place):
        pytest.skip("this file system exchanges no folders")
    moved: list[Path] = []
    rename = Path.rename
    monkeypatch.setattr(Path, "rename", lambda self, target: moved.append(self) or rename(self, target))
    replace_folder(new, place)
    assert place not in moved
    assert (place / "name").read_text() == "new"


def test_a_regular_file_is_read_up_to_the_size_that_it_may_have(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="more than"):
        read_regular(tmp_path / "file", 4)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe")
    Path("folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for path in ("pipe", "folder", "socket", "/dev/null", "missing"):
            with pytest.raises(OSError):  # noqa: PT011 - each has its own text
                read_regular(Path(path), 10)


def test_a_link_is_followed_only_where_it_may_be(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "link", 10) == b"secret"
    with pytest.raises(OSError, match="symbolic link"):
        read_regular(tmp_path / "link", 10, follow=False)


def test_a_name_can_be_of_an_open_folder(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"content")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with open_regular("file", folder=folder) as file:
            assert file.read() == b"content"
    finally:
        os.close(folder)


def test_a_name_that_no_file_can_have_is_one_that_cannot_be_opened():
    with pytest.raises(OSError, match="no file can have such a name"):
        open_regular("a\0b")
