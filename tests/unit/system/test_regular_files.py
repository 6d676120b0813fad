"""Only regular files are read, and what is none keeps nobody waiting."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from irbench.system.file_access import open_regular, read_regular


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
